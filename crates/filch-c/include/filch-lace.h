/* filch-lace.h: the names of Lace 1.4 on filch, for programs that were written for Lace.
 *
 * They compile unchanged with the folder include/lace in front of Lace's own, and link with libfilch_c. What differs:
 *
 * - Workers sleep when there is nothing to do, so lace_suspend and lace_resume have nothing to do.
 * - lace_start may leave workers asleep that the processors, or a container's quota, have no room for.
 * - RUN lets the calling thread work, in the place of a sleeping worker.
 * - If a worker's deque is full, its further tasks are not stolen; nothing ends the program.
 * - A frame of NEWFRAME or TOGETHER has workers of its own, one for each and on the same thread; so a task finds the
 *   thread-local variables of its worker.
 * - In a function that begins with LACE_VARS, and in a RUN within a task, forks take a slower path.
 * - Of the fields of WorkerP and Task there is only the task's f. TASK_RESULT is for tasks whose arguments and result
 *   fit 48 bytes. There are no counters.
 *
 * What must always hold: a task f is filch's task f_CALL.
 */
#ifndef FILCH_LACE_H
#define FILCH_LACE_H

#include "filch.h"

/* What programs get with Lace's header. */
#include <assert.h>
#include <pthread.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif
#include <stdio.h>
#include <unistd.h>

#ifndef LINE_SIZE
#define LINE_SIZE FILCH_SLOT_SIZE
#endif

typedef struct filch_front_ WorkerP;
typedef filch_slot_ Task;

/* One for all units of a program. */
__attribute__((weak)) filch_pool *filch_lace_pool_;
__attribute__((weak)) size_t filch_lace_stack_size_;
__attribute__((weak)) int filch_lace_verbosity_;

FILCH_INLINE_ void lace_set_verbosity(int level) { filch_lace_verbosity_ = level; }
FILCH_INLINE_ void lace_set_stacksize(size_t size) { filch_lace_stack_size_ = size; }
FILCH_INLINE_ size_t lace_get_stacksize(void) { return filch_lace_stack_size_; }
FILCH_INLINE_ unsigned int lace_get_pu_count(void) { return (unsigned int)sysconf(_SC_NPROCESSORS_ONLN); }
FILCH_INLINE_ unsigned int lace_workers(void) { return (unsigned int)filch_pool_workers(filch_lace_pool_); }
FILCH_INLINE_ int lace_is_worker(void) { return filch_worker_index() >= 0; }
FILCH_INLINE_ void lace_barrier(void) { filch_barrier(); }
FILCH_INLINE_ void lace_suspend(void) {}
FILCH_INLINE_ void lace_resume(void) {}

/* Starts the workers: as many as there are processors if n_workers is 0, with room for dqsize tasks each, or filch's
 * own default if that is 0. */
FILCH_COLD_ void lace_start(unsigned int n_workers, size_t dqsize)
{
    filch_settings settings = {n_workers ? n_workers : lace_get_pu_count(), filch_lace_stack_size_, dqsize, 0, false};
    filch_lace_pool_ = filch_pool_start(&settings);
    if (!filch_lace_pool_) filch_fail_("lace_start", filch_error());
    if (filch_lace_verbosity_) fprintf(stderr, "filch: %zu workers in place of Lace's\n", settings.workers);
}

FILCH_COLD_ void lace_stop(void)
{
    filch_pool_stop(filch_lace_pool_);
    filch_lace_pool_ = 0;
}

FILCH_INLINE_ WorkerP *lace_get_worker(void) { return filch_current_().front; }
FILCH_INLINE_ Task *lace_get_head(WorkerP *worker)
{
    (void)worker;
    return filch_head_(filch_current_());
}

/* Lets a function that is no task use SPAWN, SYNC and CALL, on a worker. */
#define LACE_VARS \
    filch_cursor_ filch_lace_cursor; \
    filch_lace_cursor.worker = filch_current_(); \
    filch_lace_cursor.base = filch_lace_cursor.worker.head; \
    filch_cursor_ *filch_ __attribute__((unused)) = &filch_lace_cursor;

#define LACE_TYPEDEF_CB(t, f, ...) typedef t (*f)(WorkerP *, Task *, ##__VA_ARGS__);
#define LACE_WORKER_ID ((int)filch_worker_index())

/* A random number. */
FILCH_INLINE_ uint64_t filch_lace_random_(void)
{
    static __thread uint64_t state;
    if (!state) state = (uint64_t)(uintptr_t)&state;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 32;
}
#define LACE_TRNG (filch_lace_random_())

/* The state of a task that has been spawned: acquires what its thief has done. */
FILCH_INLINE_ uint64_t filch_lace_kind_(const Task *task)
{
    return __atomic_load_n(&task->state, __ATOMIC_ACQUIRE) & FILCH_STATE_KIND;
}
#define TASK_IS_STOLEN(t) (filch_lace_kind_(t) == FILCH_STATE_STOLEN || TASK_IS_COMPLETED(t))
#define TASK_IS_COMPLETED(t) (filch_lace_kind_(t) == FILCH_STATE_DONE)
#define TASK_RESULT(t) (filch_room_(t))

/* In a task: */
#define TASK(f) (f##_CALL)
#define WRAP(f, ...) (f(filch_->worker.front, filch_head_(filch_->worker), ##__VA_ARGS__))
#define SPAWN(f, ...) (f##_CALL_spawn_(filch_raise_(filch_, FILCH_PLACE_(f)), ##__VA_ARGS__))
#define SYNC(f) (FILCH_SYNC(f##_CALL))
#define CALL(f, ...) WRAP(f##_CALL, ##__VA_ARGS__)
#define DROP() FILCH_DROP()
#define YIELD_NEWFRAME() filch_lace_yield_()
/* Relaxed: who misses a frame sees it the next time. */
FILCH_INLINE_ void filch_lace_yield_(void)
{
    if (__builtin_expect(__atomic_load_n(&filch_frames_, __ATOMIC_RELAXED), 0)) filch_take_part_();
}

/* Anywhere: */
#define RUN(f, ...) (f##_CALL_run_on_(filch_lace_pool_, FILCH_RUN_, ##__VA_ARGS__))
#define RUNEX(f, ...) RUN(f, ##__VA_ARGS__)
#define NEWFRAME(f, ...) (f##_CALL_run_on_(filch_lace_pool_, FILCH_NEW_FRAME_, ##__VA_ARGS__))
#define TOGETHER(f, ...) (f##_CALL_run_on_(filch_lace_pool_, FILCH_TOGETHER_, ##__VA_ARGS__))

/* Tasks, by the number of their arguments. */
#define TASK_0(R, f) FILCH_TASK(R, f##_CALL)
#define TASK_IMPL_0(R, f) FILCH_DEFINE(R, f##_CALL)
#define TASK_DECL_0(R, f) FILCH_DECLARE(R, f##_CALL);
#define VOID_TASK_0(f) FILCH_VOID_TASK(f##_CALL)
#define VOID_TASK_IMPL_0(f) FILCH_DEFINE_VOID(f##_CALL)
#define VOID_TASK_DECL_0(f) FILCH_DECLARE_VOID(f##_CALL);
#define TASK_1(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_1(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_1(R, f, T1) FILCH_DECLARE(R, f##_CALL, T1, a1);
#define VOID_TASK_1(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_1(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_1(f, T1) FILCH_DECLARE_VOID(f##_CALL, T1, a1);
#define TASK_2(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_2(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_2(R, f, T1, T2) FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2);
#define VOID_TASK_2(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_2(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_2(f, T1, T2) FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2);
#define TASK_3(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_3(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_3(R, f, T1, T2, T3) FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3);
#define VOID_TASK_3(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_3(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_3(f, T1, T2, T3) FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3);
#define TASK_4(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_4(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_4(R, f, T1, T2, T3, T4) FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4);
#define VOID_TASK_4(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_4(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_4(f, T1, T2, T3, T4) FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4);
#define TASK_5(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_5(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_5(R, f, T1, T2, T3, T4, T5) FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5);
#define VOID_TASK_5(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_5(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_5(f, T1, T2, T3, T4, T5) FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5);
#define TASK_6(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_6(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_6(R, f, T1, T2, T3, T4, T5, T6) \
    FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6);
#define VOID_TASK_6(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_6(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_6(f, T1, T2, T3, T4, T5, T6) \
    FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6);
#define TASK_7(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_7(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_7(R, f, T1, T2, T3, T4, T5, T6, T7) \
    FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7);
#define VOID_TASK_7(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_7(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_7(f, T1, T2, T3, T4, T5, T6, T7) \
    FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7);
#define TASK_8(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_8(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_8(R, f, T1, T2, T3, T4, T5, T6, T7, T8) \
    FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8);
#define VOID_TASK_8(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_8(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_8(f, T1, T2, T3, T4, T5, T6, T7, T8) \
    FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8);
#define TASK_9(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_9(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_9(R, f, T1, T2, T3, T4, T5, T6, T7, T8, T9) \
    FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9);
#define VOID_TASK_9(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_9(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_9(f, T1, T2, T3, T4, T5, T6, T7, T8, T9) \
    FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9);
#define TASK_10(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_10(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_10(R, f, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10) \
    FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9, T10, a10);
#define VOID_TASK_10(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_10(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_10(f, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10) \
    FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9, T10, a10);
#define TASK_11(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_11(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_11(R, f, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11) \
    FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9, T10, a10, \
        T11, a11);
#define VOID_TASK_11(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_11(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_11(f, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11) \
    FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9, T10, a10, \
        T11, a11);
#define TASK_12(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_12(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_12(R, f, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12) \
    FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9, T10, a10, \
        T11, a11, T12, a12);
#define VOID_TASK_12(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_12(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_12(f, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12) \
    FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9, T10, a10, \
        T11, a11, T12, a12);
#define TASK_13(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_13(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_13(R, f, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13) \
    FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9, T10, a10, \
        T11, a11, T12, a12, T13, a13);
#define VOID_TASK_13(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_13(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_13(f, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13) \
    FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9, T10, a10, \
        T11, a11, T12, a12, T13, a13);
#define TASK_14(R, f, ...) FILCH_TASK(R, f##_CALL, __VA_ARGS__)
#define TASK_IMPL_14(R, f, ...) FILCH_DEFINE(R, f##_CALL, __VA_ARGS__)
#define TASK_DECL_14(R, f, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13, T14) \
    FILCH_DECLARE(R, f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9, T10, a10, \
        T11, a11, T12, a12, T13, a13, T14, a14);
#define VOID_TASK_14(f, ...) FILCH_VOID_TASK(f##_CALL, __VA_ARGS__)
#define VOID_TASK_IMPL_14(f, ...) FILCH_DEFINE_VOID(f##_CALL, __VA_ARGS__)
#define VOID_TASK_DECL_14(f, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13, T14) \
    FILCH_DECLARE_VOID(f##_CALL, T1, a1, T2, a2, T3, a3, T4, a4, T5, a5, T6, a6, T7, a7, T8, a8, T9, a9, T10, a10, \
        T11, a11, T12, a12, T13, a13, T14, a14);

#endif
