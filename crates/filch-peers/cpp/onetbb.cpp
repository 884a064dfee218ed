// oneTBB: parallel_invoke, and task groups in an arena.

#include <memory>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include "programs.h"

namespace {

/// The limits hold while this lives. The thread that enters the arena takes one of its slots.
struct Limits {
    tbb::task_scheduler_handle handle = tbb::attach();
    tbb::global_control threads;
    tbb::global_control stacks;
    tbb::task_arena arena;

    Limits(size_t workers, size_t stack_bytes)
        : threads(tbb::global_control::max_allowed_parallelism, workers),
          stacks(tbb::global_control::thread_stack_size, stack_bytes),
          arena(int(workers)) {}
};

std::unique_ptr<Limits> limits;

struct OneTbb {
    static constexpr const char *name = "onetbb";
    static const char *version() { return TBB_runtime_version(); }

    static const char *begin(size_t workers, size_t stack_bytes) {
        return programs::trying([&] { limits = std::make_unique<Limits>(workers, stack_bytes); });
    }
    /// Its threads end only if they are waited for.
    static void end() {
        tbb::task_scheduler_handle handle = std::move(limits->handle);
        limits.reset();
        tbb::finalize(handle, std::nothrow);
    }

    template <class F>
    static void root(F f) {
        limits->arena.execute(f);
    }
    template <class F, class G>
    static void both(F f, G g) {
        tbb::parallel_invoke(f, g);
    }
    template <class F, class G, class H, class I>
    static void four(F f, G g, H h, I i) {
        tbb::task_group group;
        group.run(f);
        group.run(g);
        group.run(h);
        group.run_and_wait(i);
    }
    template <class F>
    static void each(size_t n, F f) {
        tbb::task_group group;
        for (size_t i = 0; i + 1 < n; i++) group.run([&f, i] { f(i); });
        group.run_and_wait([&f, n] { f(n - 1); });
    }
};

}  // namespace

const scheduler filch_scheduler = programs::table<OneTbb>();
