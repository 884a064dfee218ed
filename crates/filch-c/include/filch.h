/* filch.h: fork and join for C and C++.
 *
 *     FILCH_TASK(long, fib, int, n)
 *     {
 *         if (n < 2) return n;
 *         FILCH_SPAWN(fib, n - 1);
 *         long a = FILCH_CALL(fib, n - 2);
 *         long b = FILCH_SYNC(fib);
 *         return a + b;
 *     }
 *
 *     filch_pool *pool = filch_pool_start(NULL);
 *     long f = FILCH_RUN(pool, fib, 42);
 *     filch_pool_stop(pool);
 *
 * A spawned task is stolen by an idle worker, or runs at its FILCH_SYNC. Each spawned task is synchronized or dropped
 * once, newest first, before its spawner returns; unless NDEBUG is defined, that is asserted, and a program that does
 * otherwise is told where.
 *
 * C11 and C++17, with GCC or Clang. Link with libfilch_c. Names with a trailing underscore are internal.
 *
 * What must always hold: a spawn writes its task to the slot at the head, and the slot is the owner's, if the head is
 * below the push limit; a sync takes it from there, and no thief can have it, if the head is not below the pop limit.
 * All else is done by the library.
 */
#ifndef FILCH_H
#define FILCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
#include <exception>
#include <new>
#include <type_traits>
#endif

/* What the header and the library agree on. Written by FILCH_BLESS=1 cargo test -p filch-c --test header. */
#define FILCH_SLOT_SIZE 64
#define FILCH_SLOT_RUN 0
#define FILCH_SLOT_ROOM 16
#define FILCH_SLOT_ROOM_SIZE 48
#define FILCH_SLOT_STATE 8
#define FILCH_STATE_KIND 7
#define FILCH_STATE_STOLEN 1
#define FILCH_STATE_DONE 2
#define FILCH_FRONT_PUSH_LIMIT 0
#define FILCH_FRONT_POP_LIMIT 8
#define FILCH_FRONT_SCRATCH 128
#define FILCH_REVISION 1
#define FILCH_UNRUN 0
#define FILCH_DONE 1
#define FILCH_THROWN 2
#define FILCH_RUN_ 0
#define FILCH_NEW_FRAME_ 1
#define FILCH_TOGETHER_ 2
#define FILCH_SETTINGS_SIZE 40
#define FILCH_SETTINGS_WORKERS 0
#define FILCH_SETTINGS_STACK_SIZE 8
#define FILCH_SETTINGS_TASK_CAPACITY 16
#define FILCH_SETTINGS_WAIT 24
#define FILCH_SETTINGS_PIN 32
#define FILCH_JOB_SIZE 16
#define FILCH_JOB_CAPTURES 32
#define FILCH_ABI 0xb30000a7u
/* End of the agreement. */

/* ---- Pools ---- */

/* A pool of workers. Where a function takes one, NULL is the global pool, which starts at first use. */
typedef struct filch_pool filch_pool;

/* The settings of a pool. What is zero is left to the library. */
typedef struct filch_settings {
    size_t workers;
    size_t stack_size;    /* bytes for each worker's stack */
    size_t task_capacity; /* tasks for which each worker's task stack has room; further ones are not stolen */
    const char *wait;     /* what a worker does while it waits: "leapfrog-random", "leapfrog", "transitive", "random" */
    bool pin;             /* whether each worker stays on a processor of its own */
} filch_settings;

/* A worker, as its current task sees it. A function that gets one may fork there; it is worthless once the function
 * has returned. */
typedef struct filch_worker {
    struct filch_front_ *front;
    uintptr_t head;
} filch_worker;

#ifdef __cplusplus
extern "C" {
#endif

filch_pool *filch_pool_start_(const filch_settings *settings, uint32_t abi);

/* Starts a pool; settings may be NULL. Returns NULL if it cannot start. */
static inline filch_pool *filch_pool_start(const filch_settings *settings)
{
    return filch_pool_start_(settings, FILCH_ABI);
}

/* Why this thread's last pool did not start. */
const char *filch_error(void);

/* Waits for what still runs, and joins the pool's threads. */
void filch_pool_stop(filch_pool *pool);

size_t filch_pool_workers(const filch_pool *pool);

/* Calls `each` with the name and the value of each counter, summed over the workers. */
void filch_pool_stats(
    const filch_pool *pool, void (*each)(const char *name, uint64_t value, void *context), void *context);

/* The number of the worker that this thread is; -1 if it is none. */
int64_t filch_worker_index(void);

/* Waits until all workers that run a task together have come here. */
void filch_barrier(void);

/* Answers thieves in the middle of a long task that neither spawns nor synchronizes. */
void filch_poll(filch_worker worker);

/* ---- Loops ---- */

/* Calls `body` on blocks that make up the range, perhaps in parallel. */
void filch_for(filch_worker worker, size_t first, size_t last,
    void (*body)(filch_worker worker, size_t first, size_t last, void *context), void *context);

/* Folds blocks that make up the range, perhaps in parallel: `fold` adds a block to `sum`, and `join` adds `right` to
 * `left`, which comes before it. `result` has `size` bytes: at first a neutral element, of which each stolen part
 * begins with a copy; at last the sum. */
void filch_reduce(filch_worker worker, size_t first, size_t last, void *result, size_t size,
    void (*fold)(filch_worker worker, size_t first, size_t last, void *sum, void *context),
    void (*join)(void *left, const void *right, void *context), void *context);

/* ---- What the macros call ---- */

struct filch_slot_;

/* Runs a task for a thief; returns whether it has thrown. */
typedef bool (*filch_run_fn_)(struct filch_slot_ *slot, struct filch_front_ *front, uintptr_t head);

typedef struct filch_slot_ {
    __extension__ union {
        filch_run_fn_ run;
        void *f; /* the same, by its name in Lace */
    };
    uint64_t state;
    uint64_t room[6];
} filch_slot_;

/* What a task has thrown, in its slot behind the first word of the room. */
typedef struct filch_thrown_ {
    void (*resume)(struct filch_thrown_ *);
    void (*discard)(struct filch_thrown_ *);
    void *contents;
} filch_thrown_;

typedef struct filch_popped_ {
    filch_slot_ *slot;
    uintptr_t settled;
} filch_popped_;

filch_slot_ *filch_push_(filch_worker worker);
filch_popped_ filch_pop_(filch_worker worker);
void filch_drop_(filch_worker worker);
void filch_abandon_(filch_worker worker, filch_worker base);
bool filch_stolen_(filch_slot_ *slot, filch_worker worker, bool (*task)(filch_slot_ *, filch_worker), bool unwinds);
void filch_run_(const filch_pool *pool, size_t way, void (*enter)(filch_worker, void *), void *context, size_t size,
    bool unwinds);
filch_worker filch_current_(void);
void filch_take_part_(void);
/* How many frames have begun and not ended. */
extern uint32_t filch_frames_;
bool filch_for_here_(size_t first, size_t last, bool (*body)(size_t, size_t, void *), void *context);
unsigned filch_join_(bool (*first)(void *), void *first_context, bool (*second)(void *), void *second_context);
void filch_fail_(const char *place, const char *rule) __attribute__((noreturn));

#ifdef __cplusplus
} /* extern "C" */
#define FILCH_ASSERT_(condition, text) static_assert(condition, text)
#else
#define FILCH_ASSERT_(condition, text) _Static_assert(condition, text)
#endif

FILCH_ASSERT_(sizeof(filch_slot_) == FILCH_SLOT_SIZE, "a slot is that of the library");
FILCH_ASSERT_(offsetof(filch_slot_, run) == FILCH_SLOT_RUN, "a slot is that of the library");
FILCH_ASSERT_(offsetof(filch_slot_, state) == FILCH_SLOT_STATE, "a slot is that of the library");
FILCH_ASSERT_(offsetof(filch_slot_, room) == FILCH_SLOT_ROOM, "a slot is that of the library");
FILCH_ASSERT_(sizeof(((filch_slot_ *)0)->room) == FILCH_SLOT_ROOM_SIZE, "a slot is that of the library");
FILCH_ASSERT_(sizeof(filch_settings) == FILCH_SETTINGS_SIZE, "settings are those of the library");
FILCH_ASSERT_(offsetof(filch_settings, workers) == FILCH_SETTINGS_WORKERS, "settings are those of the library");
FILCH_ASSERT_(offsetof(filch_settings, stack_size) == FILCH_SETTINGS_STACK_SIZE, "settings are those of the library");
FILCH_ASSERT_(
    offsetof(filch_settings, task_capacity) == FILCH_SETTINGS_TASK_CAPACITY, "settings are those of the library");
FILCH_ASSERT_(offsetof(filch_settings, wait) == FILCH_SETTINGS_WAIT, "settings are those of the library");
FILCH_ASSERT_(offsetof(filch_settings, pin) == FILCH_SETTINGS_PIN, "settings are those of the library");

#define FILCH_INLINE_ static inline __attribute__((always_inline, unused))
/* GCC moves the fast path of a spawn in a loop to the cold section, too, if this is `cold`. Without `cold`, fib takes a
 * quarter longer with Clang. */
#ifdef __clang__
#define FILCH_COLD_ static __attribute__((cold, noinline, unused))
#else
#define FILCH_COLD_ static __attribute__((noinline, unused))
#endif
/* A cold half that saves the registers which its caller would otherwise save at each call, in vain. */
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define FILCH_SAVING_ __attribute__((preserve_most))
#else
#define FILCH_SAVING_
#endif

/* The worker's own values, or a thief's request, which is a hint: relaxed. */
FILCH_INLINE_ uintptr_t filch_limit_(struct filch_front_ *front, size_t offset)
{
    return __atomic_load_n((uintptr_t *)((char *)front + offset), __ATOMIC_RELAXED);
}

FILCH_INLINE_ bool filch_admits_push_(filch_worker worker)
{
    return __builtin_expect(worker.head < filch_limit_(worker.front, FILCH_FRONT_PUSH_LIMIT), 1);
}

FILCH_INLINE_ bool filch_admits_pop_(filch_worker worker)
{
    return __builtin_expect(worker.head >= filch_limit_(worker.front, FILCH_FRONT_POP_LIMIT), 1);
}

FILCH_INLINE_ filch_slot_ *filch_head_(filch_worker worker)
{
    return (filch_slot_ *)worker.head;
}

FILCH_INLINE_ filch_slot_ *filch_scratch_(filch_worker worker)
{
    return (filch_slot_ *)((char *)worker.front + FILCH_FRONT_SCRATCH);
}

FILCH_INLINE_ void *filch_room_(filch_slot_ *slot)
{
    return (char *)slot + FILCH_SLOT_ROOM;
}

/* What a task has allocated, whose arguments or result do not fit the room. */
FILCH_INLINE_ void **filch_outside_(filch_slot_ *slot)
{
    return (void **)filch_room_(slot);
}

FILCH_INLINE_ filch_thrown_ *filch_thrown_in_(filch_slot_ *slot)
{
    return (filch_thrown_ *)(filch_outside_(slot) + 1);
}

/* Other threads may read it off a slot while its owner works: relaxed. */
FILCH_INLINE_ void filch_set_run_(filch_slot_ *slot, filch_run_fn_ run)
{
    __atomic_store_n(&slot->run, run, __ATOMIC_RELAXED);
}

FILCH_COLD_ void *filch_allocate_(size_t size)
{
    void *memory = malloc(size);
    if (!memory) filch_fail_("filch", "there is no memory for the arguments of a task");
    return memory;
}

/* Throws again what a task has thrown. */
FILCH_INLINE_ void filch_resume_(filch_slot_ *slot, void *outside)
{
    filch_thrown_ thrown = *filch_thrown_in_(slot);
    free(outside);
    thrown.resume(&thrown);
}

/* ---- The head of a task's function, which the macros move ---- */

#ifdef NDEBUG
#define FILCH_PLACE_(name) 0
#else
#define FILCH_TEXT_(text) FILCH_TEXT2_(text)
#define FILCH_TEXT2_(text) #text
#define FILCH_PLACE_(name) __FILE__ ":" FILCH_TEXT_(__LINE__) ": " FILCH_TEXT_(name)
enum { FILCH_PLACES_ = 8 };
#endif

typedef struct filch_cursor_ {
    filch_worker worker;
    uintptr_t base; /* where the function began, and at its end where it ended */
#ifndef NDEBUG
    const char *places[FILCH_PLACES_]; /* of the first tasks spawned here */
#endif
} filch_cursor_;

/* Whether a frame cleans up when something unwinds through it. */
#if defined(__EXCEPTIONS) || defined(__cpp_exceptions)
#define FILCH_UNWINDS_ true
#define FILCH_CLEANUP_ __attribute__((cleanup(filch_clean_up_)))
#else
#define FILCH_UNWINDS_ false
#define FILCH_CLEANUP_
#endif

/* Drops the tasks of a function that something unwinds. */
FILCH_INLINE_ void filch_clean_up_(filch_cursor_ *cursor)
{
    if (__builtin_expect(cursor->worker.head != cursor->base, 0)) {
        filch_worker base = {cursor->worker.front, cursor->base};
        filch_abandon_(cursor->worker, base);
    }
}

FILCH_INLINE_ filch_worker filch_here_(const filch_cursor_ *cursor)
{
    return cursor->worker;
}

/* Raises the head; returns the worker below. */
FILCH_INLINE_ filch_worker filch_raise_(filch_cursor_ *cursor, const char *place)
{
    filch_worker worker = cursor->worker;
#ifndef NDEBUG
    uintptr_t depth = (worker.head - cursor->base) / FILCH_SLOT_SIZE;
    if (depth < FILCH_PLACES_) cursor->places[depth] = place;
#else
    (void)place;
#endif
    cursor->worker.head += FILCH_SLOT_SIZE;
    return worker;
}

/* Lowers the head, and returns the worker there. */
FILCH_INLINE_ filch_worker filch_lower_(filch_cursor_ *cursor, const char *place)
{
#ifndef NDEBUG
    if (cursor->worker.head == cursor->base) filch_fail_(place, "no task of this function is left to synchronize");
#else
    (void)place;
#endif
    cursor->worker.head -= FILCH_SLOT_SIZE;
    return cursor->worker;
}

/* Ends a function. */
FILCH_INLINE_ void filch_end_(filch_cursor_ *cursor, const char *place)
{
#ifndef NDEBUG
    if (cursor->worker.head != cursor->base) {
        uintptr_t depth = (cursor->worker.head - cursor->base) / FILCH_SLOT_SIZE - 1;
        bool known = depth < FILCH_PLACES_;
        filch_fail_(known ? cursor->places[depth] : place,
            known ? "this task is neither synchronized nor dropped" : "it leaves a task that it has spawned");
    }
#else
    (void)place;
#endif
    cursor->base = cursor->worker.head;
}

/* Checks that the task in a slot is the one that a sync means. */
FILCH_INLINE_ void filch_check_(filch_slot_ *slot, filch_run_fn_ run, const char *place)
{
#ifndef NDEBUG
    if (slot->run != run) filch_fail_(place, "the newest task is another one");
#else
    (void)slot, (void)run, (void)place;
#endif
}

/* ---- Exceptions ---- */

#if defined(__cplusplus) && defined(__cpp_exceptions)

extern "C" {
static inline void filch_resume_exception_(filch_thrown_ *thrown)
{
    std::exception_ptr *kept = reinterpret_cast<std::exception_ptr *>(&thrown->contents);
    std::exception_ptr exception = std::move(*kept);
    kept->~exception_ptr();
    std::rethrow_exception(std::move(exception));
}

static inline void filch_discard_exception_(filch_thrown_ *thrown)
{
    reinterpret_cast<std::exception_ptr *>(&thrown->contents)->~exception_ptr();
}
}
static_assert(sizeof(std::exception_ptr) == sizeof(void *), "an exception is kept in a word");

/* Keeps the current exception. A panic of Rust goes on. */
static inline bool filch_keep_thrown_(filch_thrown_ *thrown)
{
    std::exception_ptr exception = std::current_exception();
    if (!exception) throw;
    thrown->resume = filch_resume_exception_;
    thrown->discard = filch_discard_exception_;
    new (&thrown->contents) std::exception_ptr(std::move(exception));
    return true;
}

/* Keeps it in a slot. */
static inline bool filch_keep_exception_(filch_slot_ *slot)
{
    return filch_keep_thrown_(filch_thrown_in_(slot));
}

/* Keeps the current exception for a caller. A panic of Rust goes on. */
static inline void filch_keep_for_(std::exception_ptr &place)
{
    place = std::current_exception();
    if (!place) throw;
}

#define FILCH_TRY_ try
#define FILCH_CATCH_(statement) catch (...) { statement }
#define FILCH_EXCEPTION_ std::exception_ptr exception;
#define FILCH_RETHROW_(place) if (place) std::rethrow_exception(place);
#else
#define FILCH_TRY_
#define FILCH_CATCH_(statement)
#define FILCH_EXCEPTION_
#define FILCH_RETHROW_(place)
#endif

#ifdef __cplusplus
#define FILCH_CHECK_TYPE_(k, T, a) static_assert(std::is_trivially_copyable<T>::value, "tasks are copied as bytes");
#else
#define FILCH_CHECK_TYPE_(k, T, a)
#endif

/* ---- Lists of types and names ---- */

/* How many pairs of a type and a name follow the first argument. */
#define FILCH_PAIRS_(...) \
    FILCH_THIRTIETH_(__VA_ARGS__, 14, a_type_without_a_name, 13, a_type_without_a_name, 12, a_type_without_a_name, 11, \
        a_type_without_a_name, 10, a_type_without_a_name, 9, a_type_without_a_name, 8, a_type_without_a_name, 7, \
        a_type_without_a_name, 6, a_type_without_a_name, 5, a_type_without_a_name, 4, a_type_without_a_name, 3, \
        a_type_without_a_name, 2, a_type_without_a_name, 1, a_type_without_a_name, 0, ~)
#define FILCH_THIRTIETH_(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, \
    a21, a22, a23, a24, a25, a26, a27, a28, n, ...) \
    n

/* M(k, T, a) for each pair, of which k - 1 follow. The list ends with one more argument. Fields have numbers instead of
 * names, so that a declaration and a definition may name arguments differently. */
#define FILCH_EACH_0_(M, end)
#define FILCH_EACH_1_(M, T, a, ...) M(1, T, a) FILCH_EACH_0_(M, __VA_ARGS__)
#define FILCH_EACH_2_(M, T, a, ...) M(2, T, a) FILCH_EACH_1_(M, __VA_ARGS__)
#define FILCH_EACH_3_(M, T, a, ...) M(3, T, a) FILCH_EACH_2_(M, __VA_ARGS__)
#define FILCH_EACH_4_(M, T, a, ...) M(4, T, a) FILCH_EACH_3_(M, __VA_ARGS__)
#define FILCH_EACH_5_(M, T, a, ...) M(5, T, a) FILCH_EACH_4_(M, __VA_ARGS__)
#define FILCH_EACH_6_(M, T, a, ...) M(6, T, a) FILCH_EACH_5_(M, __VA_ARGS__)
#define FILCH_EACH_7_(M, T, a, ...) M(7, T, a) FILCH_EACH_6_(M, __VA_ARGS__)
#define FILCH_EACH_8_(M, T, a, ...) M(8, T, a) FILCH_EACH_7_(M, __VA_ARGS__)
#define FILCH_EACH_9_(M, T, a, ...) M(9, T, a) FILCH_EACH_8_(M, __VA_ARGS__)
#define FILCH_EACH_10_(M, T, a, ...) M(10, T, a) FILCH_EACH_9_(M, __VA_ARGS__)
#define FILCH_EACH_11_(M, T, a, ...) M(11, T, a) FILCH_EACH_10_(M, __VA_ARGS__)
#define FILCH_EACH_12_(M, T, a, ...) M(12, T, a) FILCH_EACH_11_(M, __VA_ARGS__)
#define FILCH_EACH_13_(M, T, a, ...) M(13, T, a) FILCH_EACH_12_(M, __VA_ARGS__)
#define FILCH_EACH_14_(M, T, a, ...) M(14, T, a) FILCH_EACH_13_(M, __VA_ARGS__)

/* The first argument, and a comma with the others, of at most fifteen. */
#define FILCH_FIRST_(f, ...) f
#define FILCH_REST_(...) \
    FILCH_SIXTEENTH_(__VA_ARGS__, FILCH_OTHERS_, FILCH_OTHERS_, FILCH_OTHERS_, FILCH_OTHERS_, FILCH_OTHERS_, \
        FILCH_OTHERS_, FILCH_OTHERS_, FILCH_OTHERS_, FILCH_OTHERS_, FILCH_OTHERS_, FILCH_OTHERS_, FILCH_OTHERS_, \
        FILCH_OTHERS_, FILCH_OTHERS_, FILCH_NO_OTHERS_, ~) \
    (__VA_ARGS__)
#define FILCH_SIXTEENTH_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, n, ...) n
#define FILCH_OTHERS_(f, ...) , __VA_ARGS__
#define FILCH_NO_OTHERS_(f)
#define FILCH_PASTE_(a, b) FILCH_PASTE2_(a, b)
#define FILCH_PASTE2_(a, b) a##b

#define FILCH_FIELD_(k, T, a) T filch_##k##_;
#define FILCH_PARAMETER_(k, T, a) , T a
#define FILCH_PASS_(k, T, a) , a
#define FILCH_STORE_(k, T, a) filch_record_->arguments.filch_##k##_ = a;
#define FILCH_LOAD_(k, T, a) , filch_arguments_.filch_##k##_

/* What differs between tasks with and without a result. */
#define FILCH_MEMBER_VALUE_(R) R result;
#define FILCH_MEMBER_VOID_(R)
#define FILCH_CHECK_VALUE_(R) FILCH_CHECK_TYPE_(~, R, ~)
#define FILCH_CHECK_VOID_(R)
#define FILCH_TYPE_VALUE_(R) R
#define FILCH_TYPE_VOID_(R) void
#define FILCH_LET_VALUE_(R, call) R filch_result_ = call
#define FILCH_LET_VOID_(R, call) call
#define FILCH_GIVE_VALUE_ return filch_result_;
#define FILCH_GIVE_VOID_
#define FILCH_PUT_VALUE_(place, call) place.result = call
#define FILCH_PUT_VOID_(place, call) call
#define FILCH_GET_VALUE_(R, place) R filch_result_ = place.result
#define FILCH_GET_VOID_(R, place) (void)place

/* ---- Tasks ---- */

/* A task that returns R: FILCH_TASK(R, name, T1, a1, …, T14, a14) { body }. Values are copied as bytes; the type of an
 * array or a function needs a typedef. Arguments, or a result, of more than FILCH_SLOT_ROOM_SIZE bytes together cost an
 * allocation for each spawn. */
#define FILCH_TASK(R, ...) \
    FILCH_DECLARE(R, __VA_ARGS__); \
    FILCH_DEFINE(R, __VA_ARGS__)
/* A task without a result: FILCH_VOID_TASK(name, T1, a1, …) { body } */
#define FILCH_VOID_TASK(...) \
    FILCH_DECLARE_VOID(__VA_ARGS__); \
    FILCH_DEFINE_VOID(__VA_ARGS__)

/* The two parts of FILCH_TASK: the declaration, which a header may have, and the definition. */
#define FILCH_DECLARE(R, ...) FILCH_PARTS_(DECLARE, VALUE, R, FILCH_PAIRS_(__VA_ARGS__), __VA_ARGS__)
#define FILCH_DECLARE_VOID(...) FILCH_PARTS_(DECLARE, VOID, ~, FILCH_PAIRS_(__VA_ARGS__), __VA_ARGS__)
#define FILCH_DEFINE(R, ...) FILCH_PARTS_(DEFINE, VALUE, R, FILCH_PAIRS_(__VA_ARGS__), __VA_ARGS__)
#define FILCH_DEFINE_VOID(...) FILCH_PARTS_(DEFINE, VOID, ~, FILCH_PAIRS_(__VA_ARGS__), __VA_ARGS__)
#define FILCH_PARTS_(PART, KIND, R, n, ...) FILCH_PARTS2_(PART, KIND, R, n, __VA_ARGS__, ~)
#define FILCH_PARTS2_(PART, KIND, R, n, ...) FILCH_##PART##_(KIND, R, FILCH_EACH_##n##_, __VA_ARGS__)

#define FILCH_DECLARE_(KIND, R, EACH, f, ...) \
    EACH(FILCH_CHECK_TYPE_, __VA_ARGS__) \
    FILCH_CHECK_##KIND##_(R) \
    __extension__ typedef struct { \
        EACH(FILCH_FIELD_, __VA_ARGS__) \
    } f##_arguments_; \
    typedef union { \
        f##_arguments_ arguments; \
        FILCH_MEMBER_##KIND##_(R) \
    } f##_record_; \
    enum { \
        f##_is_outside_ = sizeof(f##_record_) > FILCH_SLOT_ROOM_SIZE \
    }; \
    FILCH_ASSERT_( \
        FILCH_ALIGNOF_(f##_record_) <= FILCH_SLOT_ROOM, "arguments and results are aligned to 16 bytes at most"); \
    FILCH_TYPE_##KIND##_(R) f(struct filch_front_ *, filch_slot_ * EACH(FILCH_PARAMETER_, __VA_ARGS__)); \
    bool f##_run_(filch_slot_ *, struct filch_front_ *, uintptr_t); \
    FILCH_INLINE_ f##_record_ *f##_record_of_(filch_slot_ *filch_slot) \
    { \
        return (f##_record_ *)(f##_is_outside_ ? *filch_outside_(filch_slot) : filch_room_(filch_slot)); \
    } \
    FILCH_INLINE_ void f##_write_(filch_slot_ *filch_slot EACH(FILCH_PARAMETER_, __VA_ARGS__)) \
    { \
        if (f##_is_outside_) { \
            *filch_outside_(filch_slot) = filch_allocate_(sizeof(f##_record_)); \
        } \
        f##_record_ *filch_record_ = f##_record_of_(filch_slot); \
        (void)filch_record_; \
        EACH(FILCH_STORE_, __VA_ARGS__) \
        filch_set_run_(filch_slot, f##_run_); \
    } \
    /* Leaves the task's slot in the room of the scratch slot: FILCH_SAVING_ restores the register of a result. */ \
    FILCH_COLD_ FILCH_SAVING_ void f##_spawn_cold_(filch_worker filch_worker_ EACH(FILCH_PARAMETER_, __VA_ARGS__)) \
    { \
        f##_write_(filch_scratch_(filch_worker_) EACH(FILCH_PASS_, __VA_ARGS__)); \
        *filch_outside_(filch_scratch_(filch_worker_)) = filch_push_(filch_worker_); \
    } \
    /* Returns the slot of the task. */ \
    FILCH_INLINE_ filch_slot_ *f##_spawn_(filch_worker filch_worker_ EACH(FILCH_PARAMETER_, __VA_ARGS__)) \
    { \
        if (filch_admits_push_(filch_worker_)) { \
            f##_write_(filch_head_(filch_worker_) EACH(FILCH_PASS_, __VA_ARGS__)); \
            return filch_head_(filch_worker_); \
        } else { \
            f##_spawn_cold_(filch_worker_ EACH(FILCH_PASS_, __VA_ARGS__)); \
            return (filch_slot_ *)*filch_outside_(filch_scratch_(filch_worker_)); \
        } \
    } \
    /* Moves the arguments out of a slot, and runs the task. */ \
    FILCH_INLINE_ FILCH_TYPE_##KIND##_(R) f##_take_(filch_worker filch_worker_, filch_slot_ *filch_slot) \
    { \
        f##_arguments_ filch_arguments_ = f##_record_of_(filch_slot)->arguments; \
        (void)filch_arguments_; \
        if (f##_is_outside_) free(*filch_outside_(filch_slot)); \
        FILCH_LET_##KIND##_(R, f(filch_worker_.front, filch_head_(filch_worker_) EACH(FILCH_LOAD_, __VA_ARGS__))); \
        FILCH_GIVE_##KIND##_ \
    } \
    FILCH_COLD_ FILCH_TYPE_##KIND##_(R) f##_sync_cold_(filch_worker filch_worker_, const char *filch_place_) \
    { \
        filch_popped_ filch_popped = filch_pop_(filch_worker_); \
        filch_check_(filch_popped.slot, f##_run_, filch_place_); \
        if (filch_popped.settled == FILCH_UNRUN) { \
            FILCH_LET_##KIND##_(R, f##_take_(filch_worker_, filch_popped.slot)); \
            FILCH_GIVE_##KIND##_ \
        } else { \
            void *filch_memory = f##_is_outside_ ? *filch_outside_(filch_popped.slot) : (void *)0; \
            if (filch_popped.settled == FILCH_THROWN) filch_resume_(filch_popped.slot, filch_memory); \
            f##_record_ *filch_record_ = f##_record_of_(filch_popped.slot); \
            FILCH_GET_##KIND##_(R, (*filch_record_)); \
            free(filch_memory); \
            FILCH_GIVE_##KIND##_ \
        } \
    } \
    FILCH_INLINE_ FILCH_TYPE_##KIND##_(R) f##_sync_(filch_worker filch_worker_, const char *filch_place_) \
    { \
        if (filch_admits_pop_(filch_worker_)) { \
            filch_check_(filch_head_(filch_worker_), f##_run_, filch_place_); \
            FILCH_LET_##KIND##_(R, f##_take_(filch_worker_, filch_head_(filch_worker_))); \
            FILCH_GIVE_##KIND##_ \
        } else { \
            FILCH_LET_##KIND##_(R, f##_sync_cold_(filch_worker_, filch_place_)); \
            FILCH_GIVE_##KIND##_ \
        } \
    } \
    typedef struct { \
        f##_record_ record; \
        FILCH_EXCEPTION_ \
    } f##_call_; \
    FILCH_COLD_ void f##_enter_(filch_worker filch_worker_, void *filch_call) \
    { \
        f##_arguments_ filch_arguments_ = ((f##_call_ *)filch_call)->record.arguments; \
        (void)filch_arguments_; \
        FILCH_TRY_ \
        { \
            FILCH_PUT_##KIND##_( \
                ((f##_call_ *)filch_call)->record, \
                f(filch_worker_.front, filch_head_(filch_worker_) EACH(FILCH_LOAD_, __VA_ARGS__))); \
        } \
        FILCH_CATCH_(filch_keep_for_(((f##_call_ *)filch_call)->exception);) \
    } \
    FILCH_COLD_ FILCH_TYPE_##KIND##_(R) \
        f##_run_on_(const filch_pool *filch_pool_, size_t filch_way EACH(FILCH_PARAMETER_, __VA_ARGS__)) \
    { \
        f##_call_ filch_call; \
        f##_record_ *filch_record_ = &filch_call.record; \
        (void)filch_record_; \
        EACH(FILCH_STORE_, __VA_ARGS__) \
        filch_run_(filch_pool_, filch_way, f##_enter_, &filch_call, sizeof(filch_call), FILCH_UNWINDS_); \
        FILCH_RETHROW_(filch_call.exception) \
        FILCH_GET_##KIND##_(R, filch_call.record); \
        FILCH_GIVE_##KIND##_ \
    } \
    typedef FILCH_TYPE_##KIND##_(R) \
        f##_function_(struct filch_front_ *, filch_slot_ * EACH(FILCH_PARAMETER_, __VA_ARGS__))

#define FILCH_DEFINE_(KIND, R, EACH, f, ...) \
    FILCH_INLINE_ FILCH_TYPE_##KIND##_(R) f##_body_(filch_cursor_ *filch_ EACH(FILCH_PARAMETER_, __VA_ARGS__)); \
    FILCH_TYPE_##KIND##_(R) \
        f(struct filch_front_ *filch_front, filch_slot_ *filch_head EACH(FILCH_PARAMETER_, __VA_ARGS__)) \
    { \
        filch_cursor_ filch_cursor FILCH_CLEANUP_; \
        filch_cursor.worker.front = filch_front; \
        filch_cursor.worker.head = filch_cursor.base = (uintptr_t)filch_head; \
        FILCH_LET_##KIND##_(R, f##_body_(&filch_cursor EACH(FILCH_PASS_, __VA_ARGS__))); \
        filch_end_(&filch_cursor, FILCH_PLACE_(f)); \
        FILCH_GIVE_##KIND##_ \
    } \
    FILCH_COLD_ bool f##_stolen_(filch_slot_ *filch_slot, filch_worker filch_worker_) \
    { \
        f##_record_ *filch_record_ = f##_record_of_(filch_slot); \
        f##_arguments_ filch_arguments_ = filch_record_->arguments; \
        (void)filch_arguments_; \
        FILCH_TRY_ \
        { \
            FILCH_PUT_##KIND##_((*filch_record_), \
                f(filch_worker_.front, filch_head_(filch_worker_) EACH(FILCH_LOAD_, __VA_ARGS__))); \
        } \
        FILCH_CATCH_(return filch_keep_exception_(filch_slot);) \
        return false; \
    } \
    /* Runs the task for a thief, or frees what it has outside its slot. */ \
    bool f##_run_(filch_slot_ *filch_slot, struct filch_front_ *filch_front, uintptr_t filch_head) \
    { \
        if (!filch_front) { \
            if (f##_is_outside_) free(*filch_outside_(filch_slot)); \
            return false; \
        } \
        filch_worker filch_worker_ = {filch_front, filch_head}; \
        return filch_stolen_(filch_slot, filch_worker_, f##_stolen_, FILCH_UNWINDS_); \
    } \
    FILCH_INLINE_ FILCH_TYPE_##KIND##_(R) \
        f##_body_(filch_cursor_ *filch_ __attribute__((unused)) EACH(FILCH_PARAMETER_, __VA_ARGS__))

#ifdef __cplusplus
#define FILCH_ALIGNOF_(T) alignof(T)
#else
#define FILCH_ALIGNOF_(T) _Alignof(T)
#endif

/* In a task: */

/* Spawns a task: FILCH_SPAWN(name, arguments…). */
#define FILCH_SPAWN(...) \
    (void)FILCH_PASTE_(FILCH_FIRST_(__VA_ARGS__, ~), _spawn_) \
    (filch_raise_(filch_, FILCH_PLACE_(FILCH_FIRST_(__VA_ARGS__, ~))) FILCH_REST_(__VA_ARGS__))
/* Returns the result of the newest task, of which `f` is the name: runs it, or waits for its thief. */
#define FILCH_SYNC(f) FILCH_PASTE_(f, _sync_)(filch_lower_(filch_, FILCH_PLACE_(f)), FILCH_PLACE_(f))
/* Runs a task at once: FILCH_CALL(name, arguments…). */
#define FILCH_CALL(...) \
    FILCH_FIRST_(__VA_ARGS__, ~)(filch_->worker.front, filch_head_(filch_->worker) FILCH_REST_(__VA_ARGS__))
/* Ends the newest task without its result: it does not run, unless it has been stolen. */
#define FILCH_DROP() filch_drop_(filch_lower_(filch_, FILCH_PLACE_(FILCH_DROP)))
/* The worker, for functions that take one. */
#define FILCH_HERE filch_here_(filch_)

/* In a function that has a worker: runs a task at once: FILCH_AT(worker, name, arguments…). */
#define FILCH_AT(worker, ...) \
    FILCH_FIRST_(__VA_ARGS__, ~)((worker).front, filch_head_(worker) FILCH_REST_(__VA_ARGS__))

/* Anywhere: runs a task on a pool, and waits for it: FILCH_RUN(pool, name, arguments…). */
#define FILCH_RUN(pool, ...) \
    FILCH_PASTE_(FILCH_FIRST_(__VA_ARGS__, ~), _run_on_)(pool, FILCH_RUN_ FILCH_REST_(__VA_ARGS__))
/* The same, once all workers have left what they do, as soon as they wait, steal or are idle; they help, and what they
 * have left is touched by nobody meanwhile. In a task, the pool is its own. Frames come one after the other: a worker
 * that waits to begin one takes part in those of others. Within one, FILCH_RUN on the pool runs the task at once. */
#define FILCH_NEW_FRAME(pool, ...) \
    FILCH_PASTE_(FILCH_FIRST_(__VA_ARGS__, ~), _run_on_)(pool, FILCH_NEW_FRAME_ FILCH_REST_(__VA_ARGS__))
/* The same, and every worker runs the task, of which the result, or the exception, is lost. They begin together and end
 * together, and meet in between at each filch_barrier(). */
#define FILCH_TOGETHER(pool, ...) \
    FILCH_PASTE_(FILCH_FIRST_(__VA_ARGS__, ~), _run_on_)(pool, FILCH_TOGETHER_ FILCH_REST_(__VA_ARGS__))

#endif
