// libfork: coroutines that fork all branches but the last, and call that one.

#include <cstring>
#include <libfork.hpp>
#include <memory>

#include "programs.h"

namespace {

std::unique_ptr<lf::lazy_pool> pool;

constexpr auto fib = [](auto fib, uint64_t n) -> lf::task<uint64_t> {
    if (n < 2) co_return n;
    uint64_t a, b;
    co_await lf::fork[&a, fib](n - 1);
    co_await lf::call[&b, fib](n - 2);
    co_await lf::join;
    co_return a + b;
};

constexpr auto fib_above = [](auto fib_above, uint64_t n, uint64_t cutoff) -> lf::task<uint64_t> {
    if (n <= cutoff) co_return programs::serial_fib(n);
    uint64_t a, b;
    co_await lf::fork[&a, fib_above](n - 1, cutoff);
    co_await lf::call[&b, fib_above](n - 2, cutoff);
    co_await lf::join;
    co_return a + b;
};

template <unsigned levels>
constexpr auto skynet = [](auto skynet, uint64_t first, unsigned level) -> lf::task<uint64_t> {
    if (level == levels) co_return first;
    uint64_t step = 1;
    for (unsigned i = 0; i + level + 1 < levels; i++) step *= 10;
    std::array<uint64_t, 10> sums;
    for (size_t i = 0; i < 9; i++) co_await lf::fork[&sums[i], skynet](first + step * i, level + 1);
    co_await lf::call[&sums[9], skynet](first + step * 9, level + 1);
    co_await lf::join;
    uint64_t sum = 0;
    for (uint64_t each : sums) sum += each;
    co_return sum;
};

constexpr auto nqueens = []<size_t n>(auto nqueens, int rows, std::array<char, n> board) -> lf::task<int> {
    if (rows == int(n)) co_return 1;
    std::array<int, n> ways;
    size_t children = 0;
    for (int column = 0; column < int(n); column++) {
        if (!programs::is_free(board, rows, column)) continue;
        board[size_t(rows)] = char(column);
        co_await lf::fork[&ways[children++], nqueens](rows + 1, board);
    }
    co_await lf::join;
    int sum = 0;
    for (size_t i = 0; i < children; i++) sum += ways[i];
    co_return sum;
};

constexpr auto queens = [](auto queens, programs::Board board) -> lf::task<uint64_t> {
    if (board.rows == board.size) co_return 1;
    std::array<uint64_t, programs::Board::largest> ways;
    unsigned children = 0;
    for (unsigned column = 0; column < board.size; column++) {
        if (board.is_safe(column)) co_await lf::fork[&ways[children++], queens](board.with(column));
    }
    co_await lf::join;
    uint64_t sum = 0;
    for (unsigned i = 0; i < children; i++) sum += ways[i];
    co_return sum;
};

constexpr auto search = [](auto search, const tree *tree, node parent) -> lf::task<count> {
    uint32_t children = filch_children(tree, &parent);
    count sum = {1, children == 0, parent.height};
    if (children == 0) co_return sum;
    count in_frame[programs::children_in_frame];
    std::unique_ptr<count[]> many;
    if (children > programs::children_in_frame) many = std::make_unique<count[]>(children);
    count *counts = many ? many.get() : in_frame;
    for (uint32_t i = 0; i + 1 < children; i++) co_await lf::fork[&counts[i], search](tree, filch_child(&parent, i));
    co_await lf::call[&counts[children - 1], search](tree, filch_child(&parent, children - 1));
    co_await lf::join;
    for (uint32_t i = 0; i < children; i++) programs::add(sum, counts[i]);
    co_return sum;
};

constexpr auto quarters = [](auto quarters, int32_t *a, int32_t *b, int32_t *c, int n, int stride) -> lf::task<void> {
    if (n <= programs::quarters_leaf) {
        programs::multiply_leaf(a, b, c, n, stride);
        co_return;
    }
    int h = n / 2, down = h * stride;
    co_await lf::fork[quarters](a, b, c, h, stride);
    co_await lf::fork[quarters](a, b + h, c + h, h, stride);
    co_await lf::fork[quarters](a + down, b, c + down, h, stride);
    co_await lf::call[quarters](a + down, b + h, c + down + h, h, stride);
    co_await lf::join;
    co_await lf::fork[quarters](a + h, b + down, c, h, stride);
    co_await lf::fork[quarters](a + h, b + down + h, c + h, h, stride);
    co_await lf::fork[quarters](a + down + h, b + down, c + down, h, stride);
    co_await lf::call[quarters](a + down + h, b + down + h, c + down + h, h, stride);
    co_await lf::join;
};

constexpr auto multiply = [](auto multiply, programs::Product product) -> lf::task<void> {
    if (product.is_leaf()) {
        product.compute();
        co_return;
    }
    programs::Halves both = programs::halves(product);
    if (both.in_turn) {
        co_await lf::just[multiply](both.first);
        co_await lf::just[multiply](both.second);
        co_return;
    }
    co_await lf::fork[multiply](both.first);
    co_await lf::call[multiply](both.second);
    co_await lf::join;
};

constexpr auto merge = [](auto merge, programs::Runs runs, size_t cutoff) -> lf::task<void> {
    if (runs.len() <= cutoff) {
        runs.merge();
        co_return;
    }
    auto parts = programs::split(runs);
    co_await lf::fork[merge](parts.first, cutoff);
    co_await lf::call[merge](parts.second, cutoff);
    co_await lf::join;
};

constexpr auto sort = [](auto sort, uint32_t *keys, uint32_t *scratch, size_t len, size_t cutoff,
                         bool half) -> lf::task<void> {
    if (!half && len <= cutoff) {
        std::sort(keys, keys + len);
        co_return;
    }
    size_t middle = len / 2;
    co_await lf::fork[sort](keys, scratch, middle, cutoff, !half);
    co_await lf::call[sort](keys + middle, scratch + middle, len - middle, cutoff, !half);
    co_await lf::join;
    uint32_t *from = half ? keys : scratch, *to = half ? scratch : keys;
    co_await lf::just[merge](programs::Runs{from, middle, from + middle, len - middle, to}, cutoff);
};

const char *version() {
    static const std::string text = std::to_string(LF_VERSION_MAJOR) + "." + std::to_string(LF_VERSION_MINOR) + "."
                                    + std::to_string(LF_VERSION_PATCH);
    return text.c_str();
}

const char *start(size_t workers, size_t) {
    return programs::trying([&] { pool = std::make_unique<lf::lazy_pool>(workers); });
}

void stop() { pool.reset(); }

uint64_t run_fib(uint64_t n, uint64_t cutoff) {
    return cutoff < 2 ? lf::sync_wait(*pool, fib, n) : lf::sync_wait(*pool, fib_above, n, cutoff);
}

uint64_t run_skynet(unsigned levels) {
    return programs::with_constant<LEAST_LEVELS, MOST_LEVELS>(levels, [](auto levels) {
        return lf::sync_wait(*pool, skynet<decltype(levels)::value>, uint64_t(0), 0u);
    });
}

uint64_t run_nqueens(unsigned n) {
    return programs::with_constant<LEAST_QUEENS / 2, MOST_QUEENS / 2>(n / 2, [](auto half) {
        return uint64_t(lf::sync_wait(*pool, nqueens, 0, std::array<char, 2 * decltype(half)::value>{}));
    });
}

uint64_t run_queens(unsigned n) { return lf::sync_wait(*pool, queens, programs::Board{{}, 0, uint8_t(n)}); }

void run_uts(const tree *tree, const node *root, count *count) { *count = lf::sync_wait(*pool, search, tree, *root); }

void run_quarters(int32_t *a, int32_t *b, int32_t *c, int n) { lf::sync_wait(*pool, quarters, a, b, c, n, n); }

void run_matmul(const float *a, const float *b, float *c, uint32_t n) {
    lf::sync_wait(*pool, multiply, programs::Product{a, b, c, n, n, n, n, false});
}

void run_cilksort(uint32_t *keys, uint32_t *scratch, size_t len, size_t cutoff) {
    lf::sync_wait(*pool, sort, keys, scratch, len, cutoff, false);
}

}  // namespace

const scheduler filch_scheduler = {"libfork",  version, start,        stop,       run_fib,     run_skynet, run_nqueens,
                                   run_queens, run_uts, run_quarters, run_matmul, run_cilksort};
