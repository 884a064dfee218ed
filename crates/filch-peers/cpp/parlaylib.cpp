// ParlayLib: par_do, and parallel_for with a grain of one. Its threads live until the process ends, and the caller is one.

#include <cstdlib>
#include <parlay/parallel.h>

#include "programs.h"

namespace {

struct ParlayLib {
    static constexpr const char *name = "parlaylib";
    /// It has no version.
    static const char *version() { return FILCH_SOURCE_VERSION; }

    static const char *begin(size_t workers, size_t) {
        setenv("PARLAY_NUM_THREADS", std::to_string(workers).c_str(), 1);
        return parlay::num_workers() == workers ? nullptr : "ParlayLib did not start as many workers";
    }
    static constexpr void (*end)() = nullptr;

    template <class F>
    static void root(F f) {
        f();
    }
    template <class F, class G>
    static void both(F f, G g) {
        parlay::par_do(f, g);
    }
    template <class F, class G, class H, class I>
    static void four(F f, G g, H h, I i) {
        parlay::par_do([&] { parlay::par_do(f, g); }, [&] { parlay::par_do(h, i); });
    }
    template <class F>
    static void each(size_t n, F f) {
        parlay::parallel_for(0, n, f, 1);
    }
};

}  // namespace

const scheduler filch_scheduler = programs::table<ParlayLib>();
