/* Programs with known answers, of the macros of filch.h, on a pool as the arguments say: workers, way of waiting.
 * Compiled as C and as C++. */
#include <filch.h>

#include <stdio.h>
#include <string.h>

static void check(bool holds, const char *what, int line)
{
    if (holds) return;
    fprintf(stderr, "programs.c:%d: %s\n", line, what);
    exit(1);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

FILCH_TASK(long, fib, int, n)
{
    if (n < 2) return n;
    FILCH_SPAWN(fib, n - 1);
    long a = FILCH_CALL(fib, n - 2);
    long b = FILCH_SYNC(fib);
    return a + b;
}

/* Placements of queens below row `row`; each row takes the columns and diagonals that are set. */
FILCH_TASK(int, queens, int, rows, unsigned, columns, unsigned, left, unsigned, right)
{
    unsigned open = ~(columns | left | right) & ((1u << rows) - 1);
    int spawned = 0, found = 0;
    if (columns == (1u << rows) - 1) return 1;
    for (; open; open &= open - 1) {
        unsigned queen = open & (~open + 1);
        FILCH_SPAWN(queens, rows, columns | queen, (left | queen) << 1, (right | queen) >> 1);
        spawned++;
    }
    while (spawned--) found += FILCH_SYNC(queens);
    return found;
}

/* An irregular tree: a node's number says how many children it has. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static unsigned children_of(uint64_t node, int depth)
{
    return depth == 0 ? 40 : mix(node) % 100 < 24 ? 4 : 0;
}

static uint64_t count_serially(uint64_t node, int depth)
{
    uint64_t nodes = 1;
    for (unsigned child = 0; child < children_of(node, depth); child++)
        nodes += count_serially(mix(node * 8 + child + 1), depth + 1);
    return nodes;
}

FILCH_TASK(uint64_t, count, uint64_t, node, int, depth)
{
    unsigned children = children_of(node, depth);
    uint64_t nodes = 1;
    for (unsigned child = 0; child < children; child++) FILCH_SPAWN(count, mix(node * 8 + child + 1), depth + 1);
    for (unsigned child = 0; child < children; child++) nodes += FILCH_SYNC(count);
    return nodes;
}

/* Each number of arguments, of all sizes. */
typedef struct {
    long numbers[9];
} wide;
typedef struct {
    char text[48];
} whole;

FILCH_TASK(int, of_0) { return 7; }
FILCH_TASK(char, of_1, char, a) { return (char)(a + 1); }
FILCH_TASK(short, of_2, char, a, short, b) { return (short)(a + b); }
FILCH_TASK(double, of_3, float, a, double, b, char, c) { return a * b + c; }
FILCH_TASK(long double, of_4, long double, a, char, b, short, c, int, d) { return a + b + c + d; }
FILCH_TASK(wide, of_5, long, a, long, b, long, c, long, d, long, e)
{
    wide result = {{a, b, c, d, e, a + b, c + d, e, 9}};
    return result;
}

FILCH_TASK(long, of_6, long, a, long, b, long, c, long, d, long, e, long, f)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

FILCH_TASK(long, of_7, long, a, long, b, long, c, long, d, long, e, long, f, long, g)
{
    return FILCH_CALL(of_6, a, b, c, d, e, f) + 7 * g;
}

FILCH_TASK(long, of_8, char, a, char, b, char, c, char, d, char, e, char, f, char, g, wide, h)
{
    return a + b + c + d + e + f + g + h.numbers[8];
}

FILCH_TASK(long, of_9, char, a, char, b, char, c, char, d, char, e, char, f, char, g, char, h, char, i)
{
    return a + b + c + d + e + f + g + h + i;
}

FILCH_TASK(long, of_10, int, a, int, b, int, c, int, d, int, e, int, f, int, g, int, h, int, i, int, j)
{
    return a + b + c + d + e + f + g + h + i + j;
}

FILCH_TASK(long, of_11, int, a, int, b, int, c, int, d, int, e, int, f, int, g, int, h, int, i, int, j, int, k)
{
    return a + b + c + d + e + f + g + h + i + j + k;
}

FILCH_TASK(long, of_12, int, a, int, b, int, c, int, d, int, e, int, f, int, g, int, h, int, i, int, j, int, k, int,
    l)
{
    return a + b + c + d + e + f + g + h + i + j + k + l;
}

FILCH_TASK(long, of_13, int, a, int, b, int, c, int, d, int, e, int, f, int, g, int, h, int, i, int, j, int, k, int,
    l, long, m)
{
    return a + b + c + d + e + f + g + h + i + j + k + l + m;
}

FILCH_TASK(long, of_14, long, a, long, b, long, c, long, d, long, e, long, f, long, g, long, h, long, i, long, j,
    long, k, long, l, long, m, long, n)
{
    return a + b + c + d + e + f + g + h + i + j + k + l + m + 100 * n;
}

FILCH_TASK(whole, echo, whole, text) { return text; }
FILCH_VOID_TASK(add_to, long *, sum, long, by) { __atomic_fetch_add(sum, by, __ATOMIC_RELAXED); }
FILCH_VOID_TASK(add_widely, long *, sum, wide, by, wide, more)
{
    __atomic_fetch_add(sum, by.numbers[0] + more.numbers[8], __ATOMIC_RELAXED);
}

FILCH_VOID_TASK(nothing) {}

FILCH_TASK(int, arguments, int, depth)
{
    wide w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
    whole text;
    long sum = 0;
    memset(text.text, 'x', sizeof(text.text));
    if (depth) FILCH_SPAWN(arguments, depth - 1);
    FILCH_SPAWN(nothing);
    FILCH_SPAWN(of_0);
    FILCH_SPAWN(of_1, 'a');
    FILCH_SPAWN(of_2, 1, 2);
    FILCH_SPAWN(of_3, 1.5f, 2.0, 1);
    FILCH_SPAWN(of_4, 0.5L, 1, 2, 3);
    FILCH_SPAWN(of_5, 1, 2, 3, 4, 5);
    FILCH_SPAWN(of_6, 1, 2, 3, 4, 5, 6);
    FILCH_SPAWN(of_7, 1, 2, 3, 4, 5, 6, 7);
    FILCH_SPAWN(of_8, 1, 2, 3, 4, 5, 6, 7, w);
    FILCH_SPAWN(of_9, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    FILCH_SPAWN(of_10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    FILCH_SPAWN(of_11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    FILCH_SPAWN(of_12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    FILCH_SPAWN(of_13, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13L << 40);
    FILCH_SPAWN(of_14, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
    FILCH_SPAWN(echo, text);
    FILCH_SPAWN(add_to, &sum, 5);
    FILCH_SPAWN(add_widely, &sum, w, w);
    FILCH_CALL(add_widely, &sum, w, w);
    FILCH_CALL(nothing);
    FILCH_SYNC(add_widely);
    FILCH_SYNC(add_to);
    CHECK(sum == 25);
    whole echoed = FILCH_SYNC(echo);
    CHECK(memcmp(&echoed, &text, sizeof(text)) == 0);
    CHECK(FILCH_SYNC(of_14) == 91 + 1400);
    CHECK(FILCH_SYNC(of_13) == 78 + (13L << 40));
    CHECK(FILCH_SYNC(of_12) == 78);
    CHECK(FILCH_SYNC(of_11) == 66);
    CHECK(FILCH_SYNC(of_10) == 55);
    CHECK(FILCH_SYNC(of_9) == 45);
    CHECK(FILCH_SYNC(of_8) == 28 + 9);
    CHECK(FILCH_SYNC(of_7) == 91 + 49);
    CHECK(FILCH_SYNC(of_6) == 91);
    wide five = FILCH_SYNC(of_5);
    CHECK(five.numbers[3] == 4 && five.numbers[6] == 7 && five.numbers[8] == 9);
    CHECK(FILCH_SYNC(of_4) == 6.5L);
    CHECK(FILCH_SYNC(of_3) == 4.0);
    CHECK(FILCH_SYNC(of_2) == 3);
    CHECK(FILCH_SYNC(of_1) == 'b');
    CHECK(FILCH_SYNC(of_0) == 7);
    FILCH_SYNC(nothing);
    return depth ? FILCH_SYNC(arguments) + 1 : 1;
}

/* Dropped tasks run if they are stolen, and are gone then; those below are as they were. */
FILCH_TASK(long, dropping, int, depth, long *, sum)
{
    wide w = {{1, 0, 0, 0, 0, 0, 0, 0, 0}};
    if (depth == 0) return 1;
    FILCH_SPAWN(dropping, depth - 1, sum);
    FILCH_SPAWN(add_to, sum, 1);
    FILCH_SPAWN(add_widely, sum, w, w);
    long own = FILCH_CALL(dropping, depth - 1, sum);
    FILCH_DROP();
    FILCH_DROP();
    return own + FILCH_SYNC(dropping);
}

/* A stack of tasks, one per level: most find no room in a small deque. */
FILCH_TASK(int, deep, int, depth)
{
    if (depth == 0) return 0;
    FILCH_SPAWN(deep, 0);
    int below = FILCH_CALL(deep, depth - 1);
    return below + 1 + FILCH_SYNC(deep);
}

/* Loops. */
static int tag;

static void add_block(filch_worker worker, size_t first, size_t last, void *sum)
{
    long own = 0;
    for (size_t i = first; i < last; i++) own += (long)i;
    /* The body may fork at its worker. */
    own += FILCH_AT(worker, fib, 5) - 5;
    __atomic_fetch_add((long *)sum, own, __ATOMIC_RELAXED);
}

typedef struct {
    long sum, least;
    long double scale;
} summary;

static void fold_block(filch_worker worker, size_t first, size_t last, void *result, void *context)
{
    summary *own = (summary *)result;
    (void)worker;
    CHECK(context == &tag && own->scale == 1.5L);
    for (size_t i = first; i < last; i++) {
        own->sum += (long)i;
        if ((long)i < own->least) own->least = (long)i;
    }
}

static void join_blocks(void *left, const void *right, void *context)
{
    summary *own = (summary *)left;
    const summary *other = (const summary *)right;
    CHECK(context == &tag);
    own->sum += other->sum;
    if (other->least < own->least) own->least = other->least;
}

FILCH_TASK(long, loops, size_t, length)
{
    long sum = 0;
    summary all = {0, 1L << 60, 1.5L};
    FILCH_SPAWN(fib, 15);
    filch_for(FILCH_HERE, 0, length, add_block, &sum);
    filch_for(FILCH_HERE, length, length, add_block, &sum);
    filch_reduce(FILCH_HERE, 3, length, &all, sizeof(all), fold_block, join_blocks, &tag);
    CHECK(FILCH_SYNC(fib) == 610);
    CHECK(all.sum == sum - 3 && all.least == 3 && all.scale == 1.5L);
    return sum;
}

/* A call into the same pool, into another one, and into the global one, from a task. */
FILCH_TASK(long, calling, const filch_pool *, own, const filch_pool *, other, int, depth)
{
    if (depth == 0) return FILCH_RUN(own, fib, 8) + FILCH_RUN(other, fib, 8) + FILCH_RUN(NULL, fib, 8);
    FILCH_SPAWN(calling, own, other, depth - 1);
    long sum = FILCH_CALL(calling, own, other, depth - 1);
    return sum + FILCH_SYNC(calling);
}

FILCH_TASK(int, where)
{
    filch_poll(FILCH_HERE);
    return (int)filch_worker_index();
}

static void find_steals(const char *name, uint64_t value, void *steals)
{
    if (strcmp(name, "steals") == 0) *(uint64_t *)steals = value + 1;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    filch_settings settings;
    memset(&settings, 0, sizeof(settings));
    settings.workers = (size_t)atoi(argv[1]);
    settings.wait = argv[2];
    filch_pool *pool = filch_pool_start(&settings);
    if (!pool) fprintf(stderr, "%s\n", filch_error());
    CHECK(pool && filch_pool_workers(pool) == settings.workers);

    CHECK(FILCH_RUN(pool, fib, 20) == 6765);
    CHECK(FILCH_RUN(pool, queens, 8, 0, 0, 0) == 92);
    CHECK(FILCH_RUN(pool, count, 19, 0) == count_serially(19, 0));
    CHECK(FILCH_RUN(pool, arguments, 50) == 51);
    CHECK(FILCH_RUN(pool, of_14, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14) == 91 + 1400);
    CHECK(FILCH_RUN(pool, of_5, 1, 2, 3, 4, 5).numbers[8] == 9);
    FILCH_RUN(pool, nothing);
    long sum = 0;
    CHECK(FILCH_RUN(pool, dropping, 10, &sum) == 1 << 10);
    CHECK(sum >= 0 && sum <= 2 * ((1 << 10) - 1));
    CHECK(FILCH_RUN(pool, loops, 10000) == 10000L * 9999 / 2);
    int index = FILCH_RUN(pool, where);
    CHECK(index >= 0 && index < atoi(argv[1]) && filch_worker_index() == -1);

    settings.task_capacity = 4;
    filch_pool *small = filch_pool_start(&settings);
    CHECK(small);
    CHECK(FILCH_RUN(small, deep, 1000) == 1000);
    CHECK(FILCH_RUN(small, fib, 15) == 610);
    CHECK(FILCH_RUN(small, arguments, 10) == 11);
    sum = 0;
    CHECK(FILCH_RUN(small, dropping, 10, &sum) == 1 << 10);
    CHECK(FILCH_RUN(pool, calling, pool, small, 5) == 32 * 3 * 21);
    filch_pool_stop(small);

    uint64_t steals = 0;
    filch_pool_stats(pool, find_steals, &steals);
    CHECK(steals > 0 && (settings.workers > 1 || steals == 1));
    filch_pool_stop(pool);

    settings.wait = "standing";
    CHECK(!filch_pool_start(&settings) && strstr(filch_error(), "standing"));
    CHECK(!filch_pool_start_(NULL, FILCH_ABI + 1) && strstr(filch_error(), "another version"));
    return 0;
}
