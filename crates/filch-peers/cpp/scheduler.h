/* What an adapter provides: a scheduler, and the programs in the form that its own documentation uses. adapter.h calls them. */

#pragma once

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
extern "C" {
#else
#include <stddef.h>
#include <stdint.h>
#endif

/* A node of a tree: the SHA-1 hash of its parent and its index. */
struct node {
    uint32_t state[5], height;
};

/* The size of a tree, or of the subtree at a node. */
struct count {
    uint64_t nodes, leaves;
    uint32_t depth;
};

struct tree;

uint32_t filch_children(const struct tree *tree, const struct node *node);
struct node filch_child(const struct node *parent, uint32_t index);

/* The sizes that programs with constants of the type are compiled for; of the boards, those that are even. */
enum { LEAST_QUEENS = 8, MOST_QUEENS = 14, LEAST_LEVELS = 3, MOST_LEVELS = 8 };

struct scheduler {
    const char *name;
    /* Of the library. */
    const char *(*version)(void);
    /* Starts this many workers. Returns null, or a sentence that says why not. */
    const char *(*start)(size_t workers, size_t stack_bytes);
    /* Null if its threads live until the process ends. */
    void (*stop)(void);
    /* A program that is null is not there. */
    uint64_t (*fib)(uint64_t n, uint64_t cutoff);
    uint64_t (*skynet)(unsigned levels);
    uint64_t (*nqueens)(unsigned n);
    uint64_t (*queens)(unsigned n);
    void (*uts)(const struct tree *tree, const struct node *root, struct count *count);
    void (*quarters)(int32_t *a, int32_t *b, int32_t *c, int n);
    void (*matmul)(const float *a, const float *b, float *c, uint32_t n);
    void (*cilksort)(uint32_t *keys, uint32_t *scratch, size_t len, size_t cutoff);
};

extern const struct scheduler filch_scheduler;

#ifdef __cplusplus
}
#endif
