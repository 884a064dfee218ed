/* The part of a runner that replaces the recursion of examples/runner-in-c/runner.c: it runs the programs of a scheduler in
 * C or C++, which scheduler.h describes. It makes the inputs, and checks memory after a run. */

#include <pthread.h>

/* ---- What adapters call ---- */

uint32_t filch_children(const struct tree *tree, const struct node *node) { return children(tree, node); }
struct node filch_child(const struct node *parent, uint32_t index) { return child(parent, index); }

/* ---- Programs without memory ---- */

static const struct scheduler *const S = &filch_scheduler;

static union answer run_fib(const struct input *input) {
    return (union answer){.number = S->fib(input->n, input->cutoff)};
}

static bool make_skynet(const struct texts *set, struct input *out) {
    out->n = 6;
    return whole(set, "levels", LEAST_LEVELS, MOST_LEVELS, &out->n);
}

static union answer run_skynet(const struct input *input) {
    return (union answer){.number = S->skynet((unsigned)input->n)};
}

static bool make_nqueens(const struct texts *set, struct input *out) {
    out->n = 12;
    if (!whole(set, "n", LEAST_QUEENS, MOST_QUEENS, &out->n)) return false;
    return out->n % 2 == 0 || wrong("n=%" PRIu64 " is odd", out->n);
}

static union answer run_nqueens(const struct input *input) {
    return (union answer){.number = S->nqueens((unsigned)input->n)};
}

static bool make_queens(const struct texts *set, struct input *out) {
    out->n = 12;
    return whole(set, "n", 1, 20, &out->n);
}

static union answer run_queens(const struct input *input) {
    return (union answer){.number = S->queens((unsigned)input->n)};
}

static union answer run_uts(const struct input *input) {
    union answer answer = {.number = 0};
    struct node node = root(&input->tree);
    S->uts(&input->tree, &node, &answer.tree);
    return answer;
}

/* ---- Products of matrices ---- */

/* Well mixed bits of a seed and an index: the finaliser of SplitMix64. */
static uint64_t hash_of(uint64_t seed, uint64_t index) {
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static void times(const float *matrix, const int64_t *x, int64_t *out, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        uint64_t sum = 0;
        for (uint64_t j = 0; j < n; j++) sum += (uint64_t)(int64_t)matrix[i * n + j] * (uint64_t)x[j];
        out[i] = (int64_t)sum;
    }
}

static void show_product(const struct input *input, union answer answer) {
    (void)answer;
    printf("%" PRIu64 " × %" PRIu64 " product", input->n, input->n);
}

/* The matrices of both programs, or the keys of a sort. A process has one program. */
static void *memory;

/* Begins at a cache line, as the inputs of filch's runners do, wherever an allocator places others. */
static bool resize(size_t bytes) {
    const size_t line = 64;
    free(memory);
    memory = aligned_alloc(line, (bytes + line - 1) / line * line);
    return memory || wrong("no memory for the input");
}

static bool make_matmul(const struct texts *set, struct input *out) {
    out->n = 1024;
    if (!whole(set, "n", 1, 1 << 15, &out->n) || !resize(3 * out->n * out->n * sizeof(float))) return false;
    float *matrix = memory;
    uint64_t len = out->n * out->n;
    for (uint64_t i = 0; i < 2 * len; i++) matrix[i] = (float)(hash_of(1 + i / len, i % len) % 5) - 2;
    return true;
}

static void reset_matmul(const struct input *input) {
    uint64_t len = input->n * input->n;
    float *c = (float *)memory + 2 * len;
    for (uint64_t i = 0; i < len; i++) c[i] = NAN;
}

static union answer run_matmul(const struct input *input) {
    uint64_t len = input->n * input->n;
    float *a = memory;
    S->matmul(a, a + len, a + 2 * len, (uint32_t)input->n);
    return (union answer){.number = 0};
}

static bool check_matmul(const struct input *input) {
    uint64_t len = input->n * input->n;
    const float *a = memory, *c = a + 2 * len;
    for (uint64_t i = 0; i < len; i++) {
        if (c[i] != truncf(c[i])) return wrong("element %" PRIu64 " of the product is not an integer", i);
    }
    /* Freivalds' check: C x = A (B x) for a random x, in integers. */
    uint64_t n = input->n, row = 0;
    int64_t *x = malloc(4 * n * sizeof *x), *bx = x + n, *abx = bx + n, *cx = abx + n;
    if (!x) return wrong("no memory for the check");
    for (uint64_t i = 0; i < n; i++) x[i] = (int64_t)(hash_of(3, i) >> 34);
    times(a + len, x, bx, n), times(a, bx, abx, n), times(c, x, cx, n);
    while (row < n && abx[row] == cx[row]) row++;
    free(x);
    return row == n || wrong("row %" PRIu64 " of the product is wrong", row);
}

/* The matrices of the last run, which makes them itself. */
static bool make_quarters(const struct texts *set, struct input *out) {
    out->n = 512;
    if (!whole(set, "n", 32, 1 << 14, &out->n)) return false;
    return !(out->n & (out->n - 1)) || wrong("n is not a power of two");
}

static void reset_quarters(const struct input *input) {
    (void)input;
    free(memory);
    memory = NULL;
}

static union answer run_quarters(const struct input *input) {
    uint64_t len = input->n * input->n;
    int32_t *a;
    /* On a cache line, whatever the allocator: otherwise the rows of a leaf may share their lines with others. */
    if (posix_memalign(&memory, 64, 3 * len * sizeof *a)) memory = NULL;
    a = memory;
    if (!a) return (union answer){.number = 0};
    for (uint64_t i = 0; i < 2 * len; i++) a[i] = 1;
    memset(a + 2 * len, 0, len * sizeof *a);
    S->quarters(a, a + len, a + 2 * len, (int)input->n);
    return (union answer){.number = 0};
}

static bool check_quarters(const struct input *input) {
    uint64_t len = input->n * input->n;
    const int32_t *c = (const int32_t *)memory + 2 * len;
    if (!memory) return wrong("no memory for the matrices");
    for (uint64_t i = 0; i < len; i++) {
        if (c[i] != (int32_t)input->n) return wrong("element %" PRIu64 " of the product is %" PRId32, i, c[i]);
    }
    return true;
}

/* ---- cilksort ---- */

static uint64_t seed;

/* Behind each other: the keys, the scratch space. */
static bool make_cilksort(const struct texts *set, struct input *out) {
    static const char *const INPUTS[] = {"random"};
    int input = 0;
    out->n = 4000000, out->cutoff = 2048, seed = 1;
    return whole(set, "n", 1, 1ull << 32, &out->n) && whole(set, "cutoff", 1, 1ull << 40, &out->cutoff)
           && whole(set, "seed", 0, UINT32_MAX, &seed) && word(set, "input", INPUTS, COUNT(INPUTS), &input)
           && resize(2 * out->n * sizeof(uint32_t));
}

static uint32_t key(uint64_t index) { return (uint32_t)(hash_of(seed, index) >> 32); }

static void reset_cilksort(const struct input *input) {
    uint32_t *keys = memory;
    for (uint64_t i = 0; i < input->n; i++) keys[i] = key(i);
}

static union answer run_cilksort(const struct input *input) {
    uint32_t *keys = memory;
    S->cilksort(keys, keys + input->n, input->n, input->cutoff);
    return (union answer){.number = 0};
}

static void show_keys(const struct input *input, union answer answer) {
    (void)answer;
    printf("%" PRIu64 " keys sorted", input->n);
}

static bool check_cilksort(const struct input *input) {
    const uint32_t *keys = memory;
    uint64_t fingerprint = 0;
    for (uint64_t i = 0; i < input->n; i++) {
        if (i > 0 && keys[i - 1] > keys[i]) return wrong("key %" PRIu64 " is smaller than the one before", i);
        fingerprint += hash_of(7, keys[i]) - hash_of(7, key(i));
    }
    return !fingerprint || wrong("the sorted keys are not those of the input");
}

/* ---- The table ---- */

static const struct program PROGRAMS[] = {
    {.name = "fib", .parameters = {"n", "cutoff"}, .make = make_fib, .run = run_fib, .show = show_number},
    {.name = "skynet", .parameters = {"levels"}, .make = make_skynet, .run = run_skynet, .show = show_number},
    {.name = "nqueens", .parameters = {"n"}, .make = make_nqueens, .run = run_nqueens, .show = show_number},
    {.name = "queens", .parameters = {"n"}, .make = make_queens, .run = run_queens, .show = show_number},
    {.name = "uts",
     .parameters = {"tree", "type", "shape", "depth", "b", "q", "m", "seed"},
     .make = make_uts,
     .run = run_uts,
     .show = show_tree},
    {.name = "matmul",
     .parameters = {"n"},
     .make = make_matmul,
     .run = run_matmul,
     .show = show_product,
     .reset = reset_matmul,
     .check = check_matmul},
    {.name = "matmul-quarters",
     .parameters = {"n"},
     .make = make_quarters,
     .run = run_quarters,
     .show = show_product,
     .reset = reset_quarters,
     .check = check_quarters},
    {.name = "cilksort",
     .parameters = {"n", "cutoff", "input", "seed"},
     .make = make_cilksort,
     .run = run_cilksort,
     .show = show_keys,
     .reset = reset_cilksort,
     .check = check_cilksort},
};

static bool can_run(const struct program *program) {
    const bool has[] = {S->fib, S->skynet, S->nqueens, S->queens, S->uts, S->matmul, S->quarters, S->cilksort};
    return has[program - PROGRAMS];
}

#define NAME (S->name)
static const char *const SETTINGS = "", *const LIMIT = "";

/* FILCH_BUILT says of what, by what and how this runner was compiled. */
static const char *version(void) {
    static char text[2048];
    snprintf(text, sizeof text, "%s (%s)", S->version(), FILCH_BUILT);
    return text;
}

/* Threads of the scheduler, if it does not choose their stacks, have as much as this one: address space, not memory. */
static void enlarge_stacks(size_t bytes) {
#ifdef __GLIBC__
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes)) return;
    if (!pthread_attr_setstacksize(&attributes, bytes)) pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
#else
    (void)bytes;
#endif
}

/* Of the first start, and of a stop, in seconds. */
static double first, stop;

static bool start_workers(const struct request *order) {
    const size_t stack_bytes = 64 << 20;
    if (order->workers < 1 || order->workers > 1024) {
        return wrong("there can be 1 to 1024 workers, not %" PRIu64, order->workers);
    }
    if (order->settings.count > 0) {
        return wrong("%s has no settings, so `%s` cannot be set", NAME, order->settings.list[0].name);
    }
    enlarge_stacks(stack_bytes);
    double begin = seconds(CLOCK_MONOTONIC);
    const char *trouble = S->start((size_t)order->workers, stack_bytes);
    if (trouble) return wrong("%s", trouble);
    if (!order->cold) return true;
    S->fib(2, 0);
    first = seconds(CLOCK_MONOTONIC) - begin;
    if (!S->stop) return true;
    begin = seconds(CLOCK_MONOTONIC);
    S->stop();
    stop = seconds(CLOCK_MONOTONIC) - begin;
    trouble = S->start((size_t)order->workers, stack_bytes);
    return !trouble || wrong("%s", trouble);
}

static void stop_workers(void) {
    if (S->stop) S->stop();
}

static void show_counters(void) {
    if (first > 0) printf(",\"counters\":{\"first_ns\":%.0f,\"stop_ns\":%.0f}", 1e9 * first, 1e9 * stop);
}
