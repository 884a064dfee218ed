// The programs for schedulers of functions in C++. A scheduler is a class with
//
//     both(f, g)        runs two functions, perhaps in parallel
//     four(f, g, h, i)  runs four
//     each(n, f)        runs f(0) … f(n - 1)
//     root(f)           runs f as the first task
//
// Counterparts in filch-workloads/src: fib.rs, skynet.rs, nqueens.rs, queens.rs, uts/mod.rs, quarters.rs, matmul.rs and
// cilksort.rs.

#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "scheduler.h"

namespace programs {

/// No compiler may turn this into fewer calls: the leaves of fib below a cut-off.
[[gnu::noinline]] inline uint64_t serial_fib(uint64_t n) {
    if (n < 2) return n;
    uint64_t left = serial_fib(n - 1), right = serial_fib(n - 2);
    asm("" : "+r"(right));
    return left + right;
}

template <class S>
uint64_t fib(uint64_t n) {
    if (n < 2) return n;
    uint64_t a, b;
    S::both([&a, n] { a = fib<S>(n - 1); }, [&b, n] { b = fib<S>(n - 2); });
    return a + b;
}

template <class S>
uint64_t fib_above(uint64_t n, uint64_t cutoff) {
    if (n <= cutoff) return serial_fib(n);
    uint64_t a, b;
    S::both([&a, n, cutoff] { a = fib_above<S>(n - 1, cutoff); }, [&b, n, cutoff] { b = fib_above<S>(n - 2, cutoff); });
    return a + b;
}

template <class S, unsigned levels>
uint64_t skynet(uint64_t first, unsigned level) {
    if (level == levels) return first;
    uint64_t step = 1;
    for (unsigned i = 0; i + level + 1 < levels; i++) step *= 10;
    std::array<uint64_t, 10> sums;
    S::each(10, [&sums, first, step, level](size_t i) { sums[i] = skynet<S, levels>(first + step * i, level + 1); });
    uint64_t sum = 0;
    for (uint64_t each : sums) sum += each;
    return sum;
}

/// Whether no queen in the first `rows` rows attacks this place in the next.
template <size_t n>
bool is_free(const std::array<char, n> &board, int rows, int column) {
    for (int row = 0; row < rows; row++) {
        int other = board[size_t(row)];
        if (other == column || other == column - (rows - row) || other == column + (rows - row)) return false;
    }
    return true;
}

template <class S, size_t n>
int nqueens(int rows, std::array<char, n> board) {
    if (rows == int(n)) return 1;
    std::array<char, n> columns;
    size_t children = 0;
    for (int column = 0; column < int(n); column++) {
        if (is_free(board, rows, column)) columns[children++] = char(column);
    }
    if (children == 0) return 0;
    std::array<int, n> ways;
    S::each(children, [&](size_t i) {
        std::array<char, n> child = board;
        child[size_t(rows)] = columns[i];
        ways[i] = nqueens<S>(rows + 1, child);
    });
    int sum = 0;
    for (size_t i = 0; i < children; i++) sum += ways[i];
    return sum;
}

/// Calls `f` with the constant that equals `value`, which lies between `least` and `most`.
template <unsigned least, unsigned most, class F>
uint64_t with_constant(unsigned value, F f) {
    if constexpr (least < most) {
        if (value > least) return with_constant<least + 1, most>(value, f);
    }
    return f(std::integral_constant<unsigned, least>());
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

template <class S>
uint64_t queens(const Board &board) {
    if (board.rows == board.size) return 1;
    std::array<uint8_t, Board::largest> columns;
    unsigned children = 0;
    for (unsigned column = 0; column < board.size; column++) {
        if (board.is_safe(column)) columns[children++] = uint8_t(column);
    }
    if (children == 0) return 0;
    std::array<uint64_t, Board::largest> ways;
    S::each(children, [&](size_t i) { ways[i] = queens<S>(board.with(columns[i])); });
    uint64_t sum = 0;
    for (unsigned i = 0; i < children; i++) sum += ways[i];
    return sum;
}

/// Adds a subtree.
inline void add(count &sum, const count &more) {
    sum.nodes += more.nodes;
    sum.leaves += more.leaves;
    sum.depth = std::max(sum.depth, more.depth);
}

/// The results of up to this many children are in the frame. Deep trees have few children.
constexpr uint32_t children_in_frame = 8;

template <class S>
count search(const tree *tree, const node &parent);

template <class S>
count search_children(const tree *tree, const node &parent, uint32_t children, count *counts) {
    S::each(children, [&](size_t i) { counts[i] = search<S>(tree, filch_child(&parent, uint32_t(i))); });
    count sum = {1, 0, parent.height};
    for (uint32_t i = 0; i < children; i++) add(sum, counts[i]);
    return sum;
}

template <class S>
count search(const tree *tree, const node &parent) {
    uint32_t children = filch_children(tree, &parent);
    if (children == 0) return {1, 1, parent.height};
    if (children <= children_in_frame) {
        count counts[children_in_frame];
        return search_children<S>(tree, parent, children, counts);
    }
    count *counts = new count[children];
    count sum = search_children<S>(tree, parent, children, counts);
    delete[] counts;
    return sum;
}

/// A leaf of `quarters`: c += a b, for n × n blocks of matrices with rows of `stride`.
inline void multiply_leaf(const int32_t *a, const int32_t *b, int32_t *c, int n, int stride) {
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            for (int j = 0; j < n; j++) c[i * stride + j] += a[i * stride + k] * b[k * stride + j];
        }
    }
}

constexpr int quarters_leaf = 32;

template <class S>
void quarters(int32_t *a, int32_t *b, int32_t *c, int n, int stride) {
    if (n <= quarters_leaf) return multiply_leaf(a, b, c, n, stride);
    int h = n / 2, down = h * stride;
    // Both halves of a sum go to the same place, so one follows the other.
    S::four([=] { quarters<S>(a, b, c, h, stride); }, [=] { quarters<S>(a, b + h, c + h, h, stride); },
            [=] { quarters<S>(a + down, b, c + down, h, stride); },
            [=] { quarters<S>(a + down, b + h, c + down + h, h, stride); });
    S::four([=] { quarters<S>(a + h, b + down, c, h, stride); }, [=] { quarters<S>(a + h, b + down + h, c + h, h, stride); },
            [=] { quarters<S>(a + down + h, b + down, c + down, h, stride); },
            [=] { quarters<S>(a + down + h, b + down + h, c + down + h, h, stride); });
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

    static constexpr uint32_t leaf = 64;
    bool is_leaf() const { return m + n + p <= leaf; }

    void compute() const {
        constexpr size_t width = 16;
        for (size_t i = 0; i < m; i++) {
            size_t j = 0;
            for (; j + width <= p; j += width) group<width>(i, j);
            for (; j < p; j++) group<1>(i, j);
        }
    }
};

/// Two halves of a product. Both terms of a sum go to the same place, so one follows the other.
struct Halves {
    Product first, second;
    bool in_turn;
};

inline Halves halves(const Product &product) {
    uint32_t m = product.m, n = product.n, p = product.p;
    Product first = product, second = product;
    if (m >= n && m >= p) {
        first.m = m / 2;
        second.m = m - m / 2;
        second.a += size_t(m / 2) * product.stride;
        second.c += size_t(m / 2) * product.stride;
        return {first, second, false};
    }
    if (n >= m && n >= p) {
        first.n = n / 2;
        second.n = n - n / 2;
        second.a += n / 2;
        second.b += size_t(n / 2) * product.stride;
        second.add = true;
        return {first, second, true};
    }
    first.p = p / 2;
    second.p = p - p / 2;
    second.b += p / 2;
    second.c += p / 2;
    return {first, second, false};
}

template <class S>
void multiply(Product product) {
    if (product.is_leaf()) return product.compute();
    Halves both = halves(product);
    if (both.in_turn) {
        multiply<S>(both.first);
        return multiply<S>(both.second);
    }
    S::both([first = both.first] { multiply<S>(first); }, [second = both.second] { multiply<S>(second); });
}

/// Two sorted runs, and where to merge them.
struct Runs {
    const uint32_t *a;
    size_t a_len;
    const uint32_t *b;
    size_t b_len;
    uint32_t *merged;

    size_t len() const { return a_len + b_len; }

    void merge() const {
        const uint32_t *from_a = a, *from_b = b, *a_end = a + a_len, *b_end = b + b_len;
        uint32_t *to = merged;
        while (from_a != a_end && from_b != b_end) {
            bool takes_b = *from_b < *from_a;
            *to++ = takes_b ? *from_b : *from_a;
            from_a += !takes_b;
            from_b += takes_b;
        }
        std::copy(from_b, b_end, std::copy(from_a, a_end, to));
    }
};

/// Puts the median of the longer run where it belongs, and returns what is below and above it.
inline std::pair<Runs, Runs> split(Runs runs) {
    if (runs.a_len < runs.b_len) {
        std::swap(runs.a, runs.b);
        std::swap(runs.a_len, runs.b_len);
    }
    auto [a, a_len, b, b_len, merged] = runs;
    size_t middle = a_len / 2;
    uint32_t median = a[middle];
    size_t low = size_t(std::lower_bound(b, b + b_len, median) - b);
    merged[middle + low] = median;
    return {{a, middle, b, low, merged},
            {a + middle + 1, a_len - middle - 1, b + low, b_len - low, merged + middle + low + 1}};
}

template <class S>
void merge(Runs runs, size_t cutoff) {
    if (runs.len() <= cutoff) return runs.merge();
    auto parts = split(runs);
    S::both([below = parts.first, cutoff] { merge<S>(below, cutoff); },
            [above = parts.second, cutoff] { merge<S>(above, cutoff); });
}

/// Sorts into `keys`, or into `scratch` if `half` is set.
template <class S>
void sort(uint32_t *keys, uint32_t *scratch, size_t len, size_t cutoff, bool half) {
    if (!half && len <= cutoff) return std::sort(keys, keys + len);
    size_t middle = len / 2;
    S::both([=] { sort<S>(keys, scratch, middle, cutoff, !half); },
            [=] { sort<S>(keys + middle, scratch + middle, len - middle, cutoff, !half); });
    uint32_t *from = half ? keys : scratch, *to = half ? scratch : keys;
    merge<S>({from, middle, from + middle, len - middle, to}, cutoff);
}

// As functions of the scheduler's table.

template <class S, class F>
uint64_t number(F f) {
    uint64_t result = 0;
    S::root([&] { result = uint64_t(f()); });
    return result;
}

template <class S>
uint64_t run_fib(uint64_t n, uint64_t cutoff) {
    return number<S>([=] { return cutoff < 2 ? fib<S>(n) : fib_above<S>(n, cutoff); });
}

template <class S>
uint64_t run_skynet(unsigned levels) {
    return with_constant<LEAST_LEVELS, MOST_LEVELS>(levels, [](auto levels) {
        return number<S>([] { return skynet<S, decltype(levels)::value>(0, 0); });
    });
}

template <class S>
uint64_t run_nqueens(unsigned n) {
    return with_constant<LEAST_QUEENS / 2, MOST_QUEENS / 2>(n / 2, [](auto half) {
        return number<S>([] { return nqueens<S>(0, std::array<char, 2 * decltype(half)::value>{}); });
    });
}

template <class S>
uint64_t run_queens(unsigned n) {
    return number<S>([n] { return queens<S>(Board{{}, 0, uint8_t(n)}); });
}

template <class S>
void run_uts(const tree *tree, const node *root, count *count) {
    S::root([=] { *count = search<S>(tree, *root); });
}

template <class S>
void run_quarters(int32_t *a, int32_t *b, int32_t *c, int n) {
    S::root([=] { quarters<S>(a, b, c, n, n); });
}

template <class S>
void run_matmul(const float *a, const float *b, float *c, uint32_t n) {
    S::root([=] { multiply<S>(Product{a, b, c, n, n, n, n, false}); });
}

template <class S>
void run_cilksort(uint32_t *keys, uint32_t *scratch, size_t len, size_t cutoff) {
    S::root([=] { sort<S>(keys, scratch, len, cutoff, false); });
}

/// The table of a class that also has `name`, `version()`, `begin(workers, stack_bytes)` and `end()`.
template <class S>
constexpr scheduler table() {
    return {S::name,      S::version,     S::begin,       S::end,          run_fib<S>,    run_skynet<S>, run_nqueens<S>,
            run_queens<S>, run_uts<S>, run_quarters<S>, run_matmul<S>, run_cilksort<S>};
}

/// Runs `f`; returns why it failed.
template <class F>
const char *trying(F f) {
    static std::string why;
    try {
        f();
        return nullptr;
    } catch (const std::exception &error) {
        why = error.what();
        return why.c_str();
    }
}

}  // namespace programs
