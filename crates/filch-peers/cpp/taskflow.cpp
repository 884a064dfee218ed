// Taskflow: task groups of an executor; a function runs its last branch itself.

#include <memory>
#include <taskflow/taskflow.hpp>

#include "programs.h"

namespace {

std::unique_ptr<tf::Executor> executor;

struct Taskflow {
    static constexpr const char *name = "taskflow";
    static const char *version() { return tf::version(); }

    static const char *begin(size_t workers, size_t) {
        return programs::trying([&] { executor = std::make_unique<tf::Executor>(workers); });
    }
    static void end() { executor.reset(); }

    template <class F>
    static void root(F f) {
        executor->async(f).get();
    }
    template <class F, class G>
    static void both(F f, G g) {
        tf::TaskGroup group = executor->task_group();
        group.silent_async(f);
        g();
        group.corun();
    }
    template <class F, class G, class H, class I>
    static void four(F f, G g, H h, I i) {
        tf::TaskGroup group = executor->task_group();
        group.silent_async(f);
        group.silent_async(g);
        group.silent_async(h);
        i();
        group.corun();
    }
    template <class F>
    static void each(size_t n, F f) {
        tf::TaskGroup group = executor->task_group();
        for (size_t i = 0; i + 1 < n; i++) group.silent_async([&f, i] { f(i); });
        f(n - 1);
        group.corun();
    }
};

}  // namespace

const scheduler filch_scheduler = programs::table<Taskflow>();
