/* Lace, or filch by its names: tasks of C functions. A task spawns all branches but the last, calls that one, and syncs
 * in the reverse order. */

#include <alloca.h>
#include <lace.h>
#include <string.h>

#include "scheduler.h"

static uint64_t serial_fib(uint64_t n) {
    if (n < 2) return n;
    uint64_t left = serial_fib(n - 1), right = serial_fib(n - 2);
    __asm__("" : "+r"(right));
    return left + right;
}

TASK_1(uint64_t, fib, uint64_t, n)
{
    if (n < 2) return n;
    SPAWN(fib, n - 1);
    uint64_t b = CALL(fib, n - 2);
    return SYNC(fib) + b;
}

TASK_2(uint64_t, fib_above, uint64_t, n, uint64_t, cutoff)
{
    if (n <= cutoff) return serial_fib(n);
    SPAWN(fib_above, n - 1, cutoff);
    uint64_t b = CALL(fib_above, n - 2, cutoff);
    return SYNC(fib_above) + b;
}

TASK_3(uint64_t, skynet, uint64_t, first, unsigned, level, unsigned, levels)
{
    if (level == levels) return first;
    uint64_t step = 1, sum;
    for (unsigned i = 0; i + level + 1 < levels; i++) step *= 10;
    for (uint64_t i = 0; i < 9; i++) SPAWN(skynet, first + step * i, level + 1, levels);
    sum = CALL(skynet, first + step * 9, level + 1, levels);
    for (int i = 0; i < 9; i++) sum += SYNC(skynet);
    return sum;
}

static int is_free(const char *board, int rows, int column) {
    for (int row = 0; row < rows; row++) {
        int other = board[row];
        if (other == column || other == column - (rows - row) || other == column + (rows - row)) return 0;
    }
    return 1;
}

/* As Lace's own benchmark: each branch gets a copy of the board in this frame. */
TASK_3(uint64_t, nqueens, int, n, int, rows, const char *, board)
{
    if (rows == n) return 1;
    uint64_t sum = 0;
    int children = 0;
    char *boards = alloca((size_t)(n * n));
    for (int column = 0; column < n; column++) {
        if (!is_free(board, rows, column)) continue;
        char *child = boards + n * children++;
        memcpy(child, board, (size_t)rows);
        child[rows] = (char)column;
        SPAWN(nqueens, n, rows + 1, child);
    }
    while (children-- > 0) sum += SYNC(nqueens);
    return sum;
}

static struct count plus(struct count a, struct count b) {
    return (struct count){a.nodes + b.nodes, a.leaves + b.leaves, a.depth > b.depth ? a.depth : b.depth};
}

TASK_2(struct count, search, const struct tree *, tree, const struct node *, parent)
{
    uint32_t children = filch_children(tree, parent);
    struct count sum = {1, children == 0, parent->height};
    struct node *nodes = alloca(children * sizeof *nodes);
    for (uint32_t i = 0; i < children; i++) {
        nodes[i] = filch_child(parent, i);
        SPAWN(search, tree, &nodes[i]);
    }
    while (children-- > 0) sum = plus(sum, SYNC(search));
    return sum;
}

static void multiply_leaf(const int32_t *restrict a, const int32_t *restrict b, int32_t *restrict c, int n, int stride) {
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            for (int j = 0; j < n; j++) c[i * stride + j] += a[i * stride + k] * b[k * stride + j];
        }
    }
}

VOID_TASK_5(quarters, int32_t *, a, int32_t *, b, int32_t *, c, int, n, int, stride)
{
    if (n <= 32) {
        multiply_leaf(a, b, c, n, stride);
        return;
    }
    int h = n / 2, down = h * stride;
    SPAWN(quarters, a, b, c, h, stride);
    SPAWN(quarters, a, b + h, c + h, h, stride);
    SPAWN(quarters, a + down, b, c + down, h, stride);
    CALL(quarters, a + down, b + h, c + down + h, h, stride);
    for (int i = 0; i < 3; i++) SYNC(quarters);
    SPAWN(quarters, a + h, b + down, c, h, stride);
    SPAWN(quarters, a + h, b + down + h, c + h, h, stride);
    SPAWN(quarters, a + down + h, b + down, c + down, h, stride);
    CALL(quarters, a + down + h, b + down + h, c + down + h, h, stride);
    for (int i = 0; i < 3; i++) SYNC(quarters);
}

struct product {
    const float *a, *b;
    float *c;
    uint32_t m, n, p, stride, add;
};

/* Inline, so that the width is a constant. */
static inline __attribute__((always_inline)) void multiply_group(const struct product *of, size_t i, size_t j, size_t width) {
    float sums[16] = {0}, *out = of->c + i * of->stride + j;
    if (of->add) memcpy(sums, out, width * sizeof *sums);
    for (size_t k = 0; k < of->n; k++) {
        float factor = of->a[i * of->stride + k];
        const float *row = of->b + k * of->stride + j;
        for (size_t l = 0; l < width; l++) sums[l] += factor * row[l];
    }
    memcpy(out, sums, width * sizeof *sums);
}

VOID_TASK_1(multiply, const struct product *, of)
{
    uint32_t m = of->m, n = of->n, p = of->p;
    if (m + n + p <= 64) {
        for (size_t i = 0; i < m; i++) {
            size_t j = 0;
            for (; j + 16 <= p; j += 16) multiply_group(of, i, j, 16);
            for (; j < p; j++) multiply_group(of, i, j, 1);
        }
        return;
    }
    struct product first = *of, second = *of;
    if (m >= n && m >= p) {
        first.m = m / 2;
        second.m = m - m / 2;
        second.a += (size_t)(m / 2) * of->stride;
        second.c += (size_t)(m / 2) * of->stride;
    } else if (n >= m && n >= p) {
        first.n = n / 2;
        second.n = n - n / 2;
        second.a += n / 2;
        second.b += (size_t)(n / 2) * of->stride;
        second.add = 1;
        CALL(multiply, &first);
        CALL(multiply, &second);
        return;
    } else {
        first.p = p / 2;
        second.p = p - p / 2;
        second.b += p / 2;
        second.c += p / 2;
    }
    SPAWN(multiply, &first);
    CALL(multiply, &second);
    SYNC(multiply);
}

static void merge_leaf(const uint32_t *a, const uint32_t *a_end, const uint32_t *b, const uint32_t *b_end, uint32_t *merged) {
    while (a != a_end && b != b_end) {
        int from_b = *b < *a;
        *merged++ = from_b ? *b : *a;
        a += !from_b;
        b += from_b;
    }
    memcpy(merged, a, (size_t)(a_end - a) * sizeof *a);
    memcpy(merged + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

/* The number of keys below this one. */
static size_t below(uint32_t key, const uint32_t *keys, size_t len) {
    size_t low = 0;
    while (low < len) {
        size_t middle = low + (len - low) / 2;
        if (keys[middle] < key) low = middle + 1;
        else len = middle;
    }
    return low;
}

VOID_TASK_6(merge, const uint32_t *, a, size_t, a_len, const uint32_t *, b, size_t, b_len, uint32_t *, merged, size_t, cutoff)
{
    if (a_len + b_len <= cutoff) {
        merge_leaf(a, a + a_len, b, b + b_len, merged);
        return;
    }
    if (a_len < b_len) {
        const uint32_t *other = a;
        size_t other_len = a_len;
        a = b, a_len = b_len;
        b = other, b_len = other_len;
    }
    size_t middle = a_len / 2, low = below(a[middle], b, b_len);
    merged[middle + low] = a[middle];
    SPAWN(merge, a, middle, b, low, merged, cutoff);
    CALL(merge, a + middle + 1, a_len - middle - 1, b + low, b_len - low, merged + middle + low + 1, cutoff);
    SYNC(merge);
}

/* Quicksort around the median of three keys, and insertion of few. C's qsort calls a function for each comparison. */
static void sort_leaf(uint32_t *keys, size_t len) {
    while (len > 24) {
        uint32_t first = keys[0], second = keys[len / 2], third = keys[len - 1];
        uint32_t least = first < second ? first : second, most = first < second ? second : first;
        uint32_t pivot = third < least ? least : third < most ? third : most;
        size_t i = 0, j = len - 1;
        while (keys[i] < pivot) i++;
        while (keys[j] > pivot) j--;
        while (i < j) {
            uint32_t key = keys[i];
            keys[i] = keys[j];
            keys[j] = key;
            while (keys[++i] < pivot) {}
            while (keys[--j] > pivot) {}
        }
        sort_leaf(keys, j + 1);
        keys += j + 1;
        len -= j + 1;
    }
    for (size_t end = 1; end < len; end++) {
        uint32_t key = keys[end];
        size_t place = end;
        for (; place > 0 && keys[place - 1] > key; place--) keys[place] = keys[place - 1];
        keys[place] = key;
    }
}

/* Sorts into `keys`, or into `scratch` if `half` is set. */
VOID_TASK_5(sort, uint32_t *, keys, uint32_t *, scratch, size_t, len, size_t, cutoff, int, half)
{
    if (!half && len <= cutoff) {
        sort_leaf(keys, len);
        return;
    }
    size_t middle = len / 2;
    SPAWN(sort, keys, scratch, middle, cutoff, !half);
    CALL(sort, keys + middle, scratch + middle, len - middle, cutoff, !half);
    SYNC(sort);
    uint32_t *from = half ? keys : scratch, *to = half ? scratch : keys;
    CALL(merge, from, middle, from + middle, len - middle, to, cutoff);
}

static const char *version(void) { return FILCH_SOURCE_VERSION; }

static const char *start(size_t workers, size_t stack_bytes) {
    lace_set_stacksize(stack_bytes);
    /* Address space for a million tasks: more than the deepest tree has at once. */
    lace_start((unsigned)workers, 1000000);
    return NULL;
}

static uint64_t run_fib(uint64_t n, uint64_t cutoff) { return cutoff < 2 ? RUN(fib, n) : RUN(fib_above, n, cutoff); }
static uint64_t run_skynet(unsigned levels) { return RUN(skynet, 0, 0, levels); }
static uint64_t run_nqueens(unsigned n) { return RUN(nqueens, (int)n, 0, ""); }

static void run_uts(const struct tree *tree, const struct node *root, struct count *count) {
    *count = RUN(search, tree, root);
}

static void run_quarters(int32_t *a, int32_t *b, int32_t *c, int n) { RUN(quarters, a, b, c, n, n); }

static void run_matmul(const float *a, const float *b, float *c, uint32_t n) {
    struct product whole = {a, b, c, n, n, n, n, 0};
    RUN(multiply, &whole);
}

static void run_cilksort(uint32_t *keys, uint32_t *scratch, size_t len, size_t cutoff) {
    RUN(sort, keys, scratch, len, cutoff, 0);
}

const struct scheduler filch_scheduler = {
#ifdef FILCH_H
    .name = "filch-c",
#else
    .name = "lace",
#endif
    .version = version,
    .start = start,
    .stop = lace_stop,
    .fib = run_fib,
    .skynet = run_skynet,
    .nqueens = run_nqueens,
    .queens = run_nqueens,
    .uts = run_uts,
    .quarters = run_quarters,
    .matmul = run_matmul,
    .cilksort = run_cilksort,
};
