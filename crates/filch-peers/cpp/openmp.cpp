// The programs on OpenMP: tasks in a parallel region.

#include "programs.h"

#include <omp.h>

namespace {

/// A class cannot hold a pragma's task region. But the functions that one task calls create siblings, so `wait` waits for
/// the tasks of `fork`.
struct Group {
    template <class F>
    void fork(F f) {
#pragma omp task default(none) firstprivate(f)
        f();
    }

    void wait() {
#pragma omp taskwait
    }
};

template <class F>
void run(void *scheduler, F &&f) {
    int workers = int(reinterpret_cast<uintptr_t>(scheduler));
#pragma omp parallel num_threads(workers)
#pragma omp single
    f();
}

}  // namespace

extern "C" int filch_peers_openmp_version() { return _OPENMP; }

FILCH_PEERS_ENTRIES(openmp, Group, run)
