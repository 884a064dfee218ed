// OpenMP: tasks in a parallel region.

#include <omp.h>

#include "programs.h"

namespace {

int threads;

struct OpenMp {
    static constexpr const char *name = "openmp";
    /// The date of the specification that the compiler implements.
    static const char *version() {
        static const std::string date = std::to_string(_OPENMP);
        return date.c_str();
    }

    static const char *begin(size_t workers, size_t) {
        threads = int(workers);
        return nullptr;
    }
    static constexpr void (*end)() = nullptr;

    template <class F>
    static void root(F f) {
#pragma omp parallel num_threads(threads)
#pragma omp single
        f();
    }
    template <class F, class G>
    static void both(F f, G g) {
#pragma omp task default(none) shared(f)
        f();
        g();
#pragma omp taskwait
    }
    template <class F, class G, class H, class I>
    static void four(F f, G g, H h, I i) {
#pragma omp task default(none) shared(f)
        f();
#pragma omp task default(none) shared(g)
        g();
#pragma omp task default(none) shared(h)
        h();
        i();
#pragma omp taskwait
    }
    template <class F>
    static void each(size_t n, F f) {
        for (size_t i = 0; i + 1 < n; i++) {
#pragma omp task default(none) firstprivate(i) shared(f)
            f(i);
        }
        f(n - 1);
#pragma omp taskwait
    }
};

}  // namespace

const scheduler filch_scheduler = programs::table<OpenMp>();
