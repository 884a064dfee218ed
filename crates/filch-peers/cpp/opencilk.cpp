// OpenCilk: spawns of all branches but the last, in C++.

#include <cstdlib>

#include <cilk/cilk.h>

#include "programs.h"

namespace {

struct OpenCilk {
    static constexpr const char *name = "opencilk";
    static const char *version() { return __VERSION__; }

    /// Its runtime starts with the first spawn, and reads the number of workers then.
    static const char *begin(size_t workers, size_t) {
        setenv("CILK_NWORKERS", std::to_string(workers).c_str(), 1);
        return nullptr;
    }
    static constexpr void (*end)() = nullptr;

    template <class F>
    static void root(F f) {
        f();
    }
    template <class F, class G>
    static void both(F f, G g) {
        cilk_spawn f();
        g();
        cilk_sync;
    }
    template <class F, class G, class H, class I>
    static void four(F f, G g, H h, I i) {
        cilk_spawn f();
        cilk_spawn g();
        cilk_spawn h();
        i();
        cilk_sync;
    }
    template <class F>
    static void each(size_t n, F f) {
        for (size_t i = 0; i + 1 < n; i++) cilk_spawn f(i);
        f(n - 1);
        cilk_sync;
    }
};

}  // namespace

const scheduler filch_scheduler = programs::table<OpenCilk>();
