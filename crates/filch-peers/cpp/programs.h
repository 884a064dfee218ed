// The programs of filch-workloads for C++ schedulers. A scheduler is a class `Group`, whose `fork` forks a call and whose
// `wait` waits for all forked calls, and a function that runs the root.
//
// Counterparts: fib.rs, queens.rs, uts/mod.rs, matmul.rs and cilksort.rs of filch-workloads/src.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {

/// A node of a tree, laid out as in Rust: a SHA-1 state and a height.
struct Node {
    uint32_t state[5];
    uint32_t height;
};

/// The size of a tree.
struct Count {
    uint64_t nodes;
    uint64_t leaves;
    uint64_t depth;
};

// These are Rust functions, so that all schedulers have the same leaves.

uint64_t filch_peers_fib(uint64_t n);
uint32_t filch_peers_children(const void *tree, const Node *node);
void filch_peers_child(const Node *node, uint32_t index, Node *child);
void filch_peers_sort(uint32_t *keys, size_t len);
}

namespace programs {

template <class Group>
uint64_t fib(uint64_t n) {
    if (n < 2) return n;
    uint64_t a, b;
    Group group;
    group.fork([&b, n] { b = fib<Group>(n - 2); });
    a = fib<Group>(n - 1);
    group.wait();
    return a + b;
}

template <class Group>
uint64_t fib_above(uint64_t n, uint64_t cutoff) {
    if (n <= cutoff) return filch_peers_fib(n);
    uint64_t a, b;
    Group group;
    group.fork([&b, n, cutoff] { b = fib_above<Group>(n - 2, cutoff); });
    a = fib_above<Group>(n - 1, cutoff);
    group.wait();
    return a + b;
}

struct Board {
    static constexpr unsigned largest = 20;
    uint8_t columns[largest];
    uint8_t rows;
    uint8_t size;

    bool is_safe(unsigned column) const {
        for (int row = rows - 1, distance = 1; row >= 0; row--, distance++) {
            int other = columns[row], difference = other - int(column);
            if (difference == 0 || difference == distance || difference == -distance) return false;
        }
        return true;
    }

    Board with(unsigned column) const {
        Board child = *this;
        child.columns[child.rows++] = uint8_t(column);
        return child;
    }
};

template <class Group>
uint64_t queens(const Board &board) {
    if (board.rows == board.size) return 1;
    std::array<uint64_t, Board::largest> ways;
    unsigned children = 0;
    Group group;
    for (unsigned column = 0; column < board.size; column++) {
        if (!board.is_safe(column)) continue;
        uint64_t *result = &ways[children++];
        group.fork([result, &board, column] { *result = queens<Group>(board.with(column)); });
    }
    group.wait();
    uint64_t sum = 0;
    for (unsigned i = 0; i < children; i++) sum += ways[i];
    return sum;
}

/// The results of up to this many children are in the frame. Deep trees have few children.
constexpr uint32_t children_in_frame = 8;

template <class Group>
Count search(const void *tree, const Node &node);

template <class Group>
Count search_children(const void *tree, const Node &node, uint32_t children, Count *counts) {
    Group group;
    for (uint32_t i = 0; i < children; i++) {
        Node child;
        filch_peers_child(&node, i, &child);
        Count *result = &counts[i];
        group.fork([result, tree, child] { *result = search<Group>(tree, child); });
    }
    group.wait();
    Count sum = {1, 0, node.height};
    for (uint32_t i = 0; i < children; i++) {
        sum.nodes += counts[i].nodes;
        sum.leaves += counts[i].leaves;
        sum.depth = std::max(sum.depth, counts[i].depth);
    }
    return sum;
}

template <class Group>
Count search(const void *tree, const Node &node) {
    uint32_t children = filch_peers_children(tree, &node);
    if (children == 0) return {1, 1, node.height};
    if (children <= children_in_frame) {
        Count counts[children_in_frame];
        return search_children<Group>(tree, node, children, counts);
    }
    Count *counts = new Count[children];
    Count sum = search_children<Group>(tree, node, children, counts);
    delete[] counts;
    return sum;
}

struct Product {
    const float *a, *b;
    float *c;
    uint32_t m, n, p, stride;
    bool add;

    template <size_t width>
    void group(size_t i, size_t j) const {
        float sums[width] = {};
        float *out = c + i * stride + j;
        if (add) std::memcpy(sums, out, sizeof sums);
        for (size_t k = 0; k < n; k++) {
            float factor = a[i * stride + k];
            const float *row = b + k * stride + j;
            for (size_t l = 0; l < width; l++) sums[l] += factor * row[l];
        }
        std::memcpy(out, sums, sizeof sums);
    }

    void compute() const {
        constexpr size_t width = 16;
        for (size_t i = 0; i < m; i++) {
            size_t j = 0;
            for (; j + width <= p; j += width) group<width>(i, j);
            for (; j < p; j++) group<1>(i, j);
        }
    }
};

template <class Group>
void multiply(Product product) {
    constexpr uint32_t leaf = 64;
    uint32_t m = product.m, n = product.n, p = product.p;
    if (m + n + p <= leaf) return product.compute();
    Product first = product, second = product;
    if (m >= n && m >= p) {
        first.m = m / 2;
        second.m = m - m / 2;
        second.a += size_t(m / 2) * product.stride;
        second.c += size_t(m / 2) * product.stride;
    } else if (n >= m && n >= p) {
        first.n = n / 2;
        second.n = n - n / 2;
        second.a += n / 2;
        second.b += size_t(n / 2) * product.stride;
        second.add = true;
        multiply<Group>(first);
        return multiply<Group>(second);
    } else {
        first.p = p / 2;
        second.p = p - p / 2;
        second.b += p / 2;
        second.c += p / 2;
    }
    Group group;
    group.fork([second] { multiply<Group>(second); });
    multiply<Group>(first);
    group.wait();
}

template <class Group>
void merge(const uint32_t *a, size_t a_len, const uint32_t *b, size_t b_len, uint32_t *merged, size_t cutoff) {
    if (a_len + b_len <= cutoff) {
        const uint32_t *a_end = a + a_len, *b_end = b + b_len;
        while (a != a_end && b != b_end) {
            bool from_b = *b < *a;
            *merged++ = from_b ? *b : *a;
            a += !from_b;
            b += from_b;
        }
        std::copy(b, b_end, std::copy(a, a_end, merged));
        return;
    }
    if (a_len < b_len) {
        std::swap(a, b);
        std::swap(a_len, b_len);
    }
    size_t middle = a_len / 2;
    uint32_t median = a[middle];
    size_t low = size_t(std::lower_bound(b, b + b_len, median) - b);
    merged[middle + low] = median;
    Group group;
    group.fork([=] {
        merge<Group>(a + middle + 1, a_len - middle - 1, b + low, b_len - low, merged + middle + low + 1, cutoff);
    });
    merge<Group>(a, middle, b, low, merged, cutoff);
    group.wait();
}

/// Sorts into `keys`, or into `scratch` if `half` is set.
template <class Group>
void sort(uint32_t *keys, uint32_t *scratch, size_t len, size_t cutoff, bool half) {
    if (!half && len <= cutoff) return filch_peers_sort(keys, len);
    size_t middle = len / 2;
    Group group;
    group.fork([=] { sort<Group>(keys + middle, scratch + middle, len - middle, cutoff, !half); });
    sort<Group>(keys, scratch, middle, cutoff, !half);
    group.wait();
    uint32_t *from = half ? keys : scratch, *to = half ? scratch : keys;
    merge<Group>(from, middle, from + middle, len - middle, to, cutoff);
}

}  // namespace programs

/// Defines the functions that Rust calls: `run(scheduler, call)` runs `call` as the root task.
#define FILCH_PEERS_ENTRIES(name, Group, run)                                                                          \
    extern "C" uint64_t filch_peers_##name##_fib(void *scheduler, uint64_t n, uint64_t cutoff) {                       \
        uint64_t result;                                                                                               \
        run(scheduler, [&] {                                                                                           \
            result = cutoff < 2 ? programs::fib<Group>(n) : programs::fib_above<Group>(n, cutoff);                     \
        });                                                                                                            \
        return result;                                                                                                 \
    }                                                                                                                  \
    extern "C" uint64_t filch_peers_##name##_queens(void *scheduler, uint8_t size) {                                   \
        uint64_t result;                                                                                               \
        run(scheduler, [&] { result = programs::queens<Group>(programs::Board{{}, 0, size}); });                       \
        return result;                                                                                                 \
    }                                                                                                                  \
    extern "C" void filch_peers_##name##_uts(void *scheduler, const void *tree, const Node *root, Count *count) {      \
        run(scheduler, [&] { *count = programs::search<Group>(tree, *root); });                                        \
    }                                                                                                                  \
    extern "C" void filch_peers_##name##_matmul(void *scheduler, const float *a, const float *b, float *c,             \
                                                uint32_t n) {                                                          \
        run(scheduler, [&] { programs::multiply<Group>(programs::Product{a, b, c, n, n, n, n, false}); });             \
    }                                                                                                                  \
    extern "C" void filch_peers_##name##_cilksort(void *scheduler, uint32_t *keys, uint32_t *scratch, size_t len,      \
                                                  size_t cutoff) {                                                     \
        run(scheduler, [&] { programs::sort<Group>(keys, scratch, len, cutoff, false); });                             \
    }
