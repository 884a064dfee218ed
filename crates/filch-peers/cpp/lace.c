/* Lace: tasks of C functions. A task spawns all branches but the last, calls that one, and syncs in the reverse order. */

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

const struct scheduler filch_scheduler = {
    .name = "lace",
    .version = version,
    .start = start,
    .stop = lace_stop,
    .fib = run_fib,
    .skynet = run_skynet,
    .nqueens = run_nqueens,
    .queens = run_nqueens,
    .uts = run_uts,
    .quarters = run_quarters,
};
