// The programs on oneTBB: task groups in an arena.

#include "programs.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

namespace {

struct Group {
    tbb::task_group group;

    template <class F>
    void fork(F &&f) {
        group.run(std::forward<F>(f));
    }

    void wait() { group.wait(); }
};

/// The limits hold while this lives. The thread that enters the arena takes one of its slots.
struct Scheduler {
    tbb::global_control threads;
    tbb::global_control stacks;
    tbb::task_arena arena;

    Scheduler(size_t workers, size_t stack_bytes)
        : threads(tbb::global_control::max_allowed_parallelism, workers),
          stacks(tbb::global_control::thread_stack_size, stack_bytes),
          arena(int(workers)) {}
};

template <class F>
void run(void *scheduler, F &&f) {
    static_cast<Scheduler *>(scheduler)->arena.execute(f);
}

}  // namespace

extern "C" void *filch_peers_onetbb_start(size_t workers, size_t stack_bytes) {
    return new Scheduler(workers, stack_bytes);
}

extern "C" void filch_peers_onetbb_stop(void *scheduler) { delete static_cast<Scheduler *>(scheduler); }

extern "C" const char *filch_peers_onetbb_version() { return TBB_runtime_version(); }

FILCH_PEERS_ENTRIES(onetbb, Group, run)
