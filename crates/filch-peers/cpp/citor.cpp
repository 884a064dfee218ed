// citor: forkJoin of functions, and forkJoinAll of a number of tasks. The caller works, and workers are bound to processors, as
// its benchmarks do: to both hyperthreads of a core only if all are wanted.

#include <citor/hints.h>
#include <citor/thread_pool.h>
#include <citor/version.h>
#include <memory>

#include "programs.h"

namespace {

std::unique_ptr<citor::ThreadPool> pool;

struct Citor {
    static constexpr const char *name = "citor";
    static const char *version() { return CITOR_VERSION_STRING; }

    static const char *begin(size_t workers, size_t) {
        bool all = workers == std::thread::hardware_concurrency();
        auto affinity = all ? citor::Affinity::PerCpuSmtPair : citor::Affinity::PerCpu;
        return programs::trying([&] { pool = std::make_unique<citor::ThreadPool>(workers, affinity); });
    }
    static void end() { pool.reset(); }

    template <class F>
    static void root(F f) {
        f();
    }
    template <class F, class G>
    static void both(F f, G g) {
        pool->forkJoin<citor::HintsDefaults>(f, g);
    }
    template <class F, class G, class H, class I>
    static void four(F f, G g, H h, I i) {
        pool->forkJoin<citor::HintsDefaults>(f, g, h, i);
    }
    template <class F>
    static void each(size_t n, F f) {
        pool->forkJoinAll<citor::HintsDefaults>(n, f);
    }
};

}  // namespace

const scheduler filch_scheduler = programs::table<Citor>();
