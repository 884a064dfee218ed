/* A program in the names of Lace. The arguments: workers, and a way of waiting, which Lace does not know. */
#include <lace.h>
#include <stdlib.h>

static void check(int holds, const char *what, int line)
{
    if (holds) return;
    fprintf(stderr, "lace.c:%d: %s\n", line, what);
    exit(1);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

/* As in programs that hide whether they are on a worker: the task's name is a macro's, too. */
TASK_DECL_1(long, fib, int)
#define fib(n) RUN(fib, n)

TASK_IMPL_1(long, fib, int, n)
{
    if (n < 2) return n;
    SPAWN(fib, n - 1);
    long a = CALL(fib, n - 2);
    return a + SYNC(fib);
}

LACE_TYPEDEF_CB(long, callback, int)

TASK_2(long, apply, callback, f, int, n)
{
    return WRAP(f, n);
}

TASK_14(long, sum, long, a, long, b, long, c, long, d, long, e, long, f, long, g, long, h, long, i, long, j, long, k,
    long, l, long, m, long, n)
{
    return a + b + c + d + e + f + g + h + i + j + k + l + m + n;
}

VOID_TASK_DECL_1(increment, long *)
VOID_TASK_IMPL_1(increment, long *, count)
{
    __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
}

VOID_TASK_0(nothing) { YIELD_NEWFRAME(); }

/* What others may see of a spawned task that returns `result`. */
static void look_at(Task *task, long result)
{
    CHECK(task->f != NULL);
    if (TASK_IS_COMPLETED(task)) CHECK(TASK_IS_STOLEN(task) && *(long *)TASK_RESULT(task) == result);
}

/* In a function that is no task. */
static long outside_a_task(int n)
{
    LACE_VARS
    look_at(SPAWN(fib, n), 55);
    SPAWN(nothing);
    long a = CALL(fib, n);
    DROP();
    return a + SYNC(fib);
}

TASK_0(long, all)
{
    CHECK(lace_is_worker() && LACE_WORKER_ID >= 0 && LACE_WORKER_ID < (int)lace_workers());
    CHECK(lace_get_worker() == lace_get_worker());
    Task *task = SPAWN(sum, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
    CHECK(task != NULL && LACE_TRNG != LACE_TRNG);
    CHECK(CALL(apply, TASK(fib), 10) == 55);
    CHECK(outside_a_task(10) == 110);
    return SYNC(sum);
}

/* Every worker comes to each of ten barriers before any goes on. */
VOID_TASK_2(in_step, long *, counts, int, workers)
{
    for (int step = 0; step < 10; step++) {
        CALL(increment, &counts[step]);
        lace_barrier();
        CHECK(counts[step] == workers);
        lace_barrier();
    }
}

/* Frames in frames, from several workers at once. */
VOID_TASK_2(frames, int, depth, long *, count)
{
    if (depth == 0) return;
    SPAWN(frames, depth - 1, count);
    SPAWN(fib, 5);
    if (depth % 2)
        NEWFRAME(frames, depth - 1, count);
    else
        TOGETHER(increment, count);
    CHECK(SYNC(fib) == 5);
    SYNC(frames);
}

/* A store that tasks fill. Who finds it full empties it while all others have left what they do, as Sylvan does. */
static int is_collecting;
static long room, users, collections;

VOID_TASK_1(collect, int, workers)
{
    CHECK(__atomic_load_n(&users, __ATOMIC_SEQ_CST) == 0);
    long swept = 0;
    TOGETHER(increment, &swept);
    CHECK(swept == workers && RUN(fib, 5) == 5);
    collections++;
    __atomic_store_n(&room, 50, __ATOMIC_SEQ_CST);
}

/* Counts the user meanwhile; whether there was room. */
static int fill(void)
{
    __atomic_fetch_add(&users, 1, __ATOMIC_SEQ_CST);
    for (volatile int i = 0; i < 100; i++) {}
    int had_room = __atomic_fetch_sub(&room, 1, __ATOMIC_SEQ_CST) > 0;
    __atomic_fetch_sub(&users, 1, __ATOMIC_SEQ_CST);
    return had_room;
}

TASK_2(long, leaves, int, depth, int, workers)
{
    YIELD_NEWFRAME();
    while (!fill()) {
        int off = 0;
        if (__atomic_compare_exchange_n(&is_collecting, &off, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            NEWFRAME(collect, workers);
            __atomic_store_n(&is_collecting, 0, __ATOMIC_SEQ_CST);
        } else {
            while (__atomic_load_n(&is_collecting, __ATOMIC_SEQ_CST)) YIELD_NEWFRAME();
        }
    }
    if (depth == 0) return 1;
    SPAWN(leaves, depth - 1, workers);
    long a = CALL(leaves, depth - 1, workers);
    return a + SYNC(leaves);
}

/* Frames from outside. */
static void *from_outside(void *unused)
{
    for (int i = 0; i < 5; i++) CHECK(NEWFRAME(fib, 5) == 5);
    return unused;
}

static void collects(int workers)
{
    pthread_t threads[2];
    room = collections = 0;
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, from_outside, NULL) == 0);
    CHECK(RUN(leaves, 8, workers) == 1 << 8);
    for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(collections > (1 << 9) / 50);
}

static long together_in(int depth)
{
    return depth == 0 ? 0 : together_in(depth - 1) + (depth % 2 ? together_in(depth - 1) : 1);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    lace_set_verbosity(0);
    lace_set_stacksize(4 << 20);
    CHECK(lace_get_stacksize() == 4 << 20 && lace_get_pu_count() > 0 && !lace_is_worker());
    for (int round = 0; round < 2; round++) {
        int workers = atoi(argv[1]);
        lace_start((unsigned)workers, round ? 50 : 0);
        CHECK((int)lace_workers() == workers);
        CHECK(fib(20) == 6765);
        lace_suspend();
        lace_resume();
        CHECK(RUN(all) == 105 && RUNEX(all) == 105);
        long count = 0, counts[10] = {0};
        TOGETHER(increment, &count);
        CHECK(count == workers);
        TOGETHER(in_step, counts, workers);
        CHECK(NEWFRAME(fib, 15) == 610);
        count = 0;
        RUN(frames, 6, &count);
        CHECK(count == together_in(6) * workers);
        collects(workers);
        lace_stop();
    }
    return 0;
}
