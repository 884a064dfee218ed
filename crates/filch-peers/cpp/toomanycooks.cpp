// TooManyCooks: coroutines, spawned as an array or a tuple; fib forks one branch and awaits the other. Workers are bound to
// cores, as its benchmarks do where hwloc is there.

#define TMC_IMPL

#include <ranges>
#include <tmc/ex_cpu.hpp>
#include <tmc/spawn.hpp>
#include <tmc/spawn_many.hpp>
#include <tmc/spawn_tuple.hpp>
#include <tmc/sync.hpp>
#include <tmc/task.hpp>
#include <tmc/version.hpp>
#include <vector>

#include "programs.h"

namespace {

tmc::task<uint64_t> fib(uint64_t n) {
    if (n < 2) co_return n;
    auto forked = tmc::spawn(fib(n - 1)).fork();
    uint64_t b = co_await fib(n - 2);
    uint64_t a = co_await std::move(forked);
    co_return a + b;
}

tmc::task<uint64_t> fib_above(uint64_t n, uint64_t cutoff) {
    if (n <= cutoff) co_return programs::serial_fib(n);
    auto forked = tmc::spawn(fib_above(n - 1, cutoff)).fork();
    uint64_t b = co_await fib_above(n - 2, cutoff);
    uint64_t a = co_await std::move(forked);
    co_return a + b;
}

template <unsigned levels>
tmc::task<uint64_t> skynet(uint64_t first, unsigned level) {
    if (level == levels) co_return first;
    uint64_t step = 1;
    for (unsigned i = 0; i + level + 1 < levels; i++) step *= 10;
    auto branches = std::views::iota(size_t(0))
                    | std::views::transform([=](size_t i) { return skynet<levels>(first + step * i, level + 1); });
    std::array<uint64_t, 10> sums = co_await tmc::spawn_many<10>(branches.begin());
    uint64_t sum = 0;
    for (uint64_t each : sums) sum += each;
    co_return sum;
}

template <size_t n>
tmc::task<int> nqueens(int rows, std::array<char, n> board) {
    if (rows == int(n)) co_return 1;
    size_t children = 0;
    auto branches = std::views::iota(0, int(n))
                    | std::views::filter([&](int column) { return programs::is_free(board, rows, column); })
                    | std::views::transform([&](int column) {
                          board[size_t(rows)] = char(column);
                          children++;
                          return nqueens<n>(rows + 1, board);
                      });
    std::array<int, n> ways = co_await tmc::spawn_many<n>(branches.begin(), branches.end());
    int sum = 0;
    for (size_t i = 0; i < children; i++) sum += ways[i];
    co_return sum;
}

tmc::task<uint64_t> queens(programs::Board board) {
    constexpr size_t most = programs::Board::largest;
    if (board.rows == board.size) co_return 1;
    size_t children = 0;
    auto branches = std::views::iota(0u, unsigned(board.size))
                    | std::views::filter([&](unsigned column) { return board.is_safe(column); })
                    | std::views::transform([&](unsigned column) {
                          children++;
                          return queens(board.with(column));
                      });
    std::array<uint64_t, most> ways = co_await tmc::spawn_many<most>(branches.begin(), branches.end());
    uint64_t sum = 0;
    for (size_t i = 0; i < children; i++) sum += ways[i];
    co_return sum;
}

tmc::task<count> search(const tree *tree, node parent) {
    uint32_t children = filch_children(tree, &parent);
    count sum = {1, children == 0, parent.height};
    if (children == 0) co_return sum;
    auto branches = std::views::iota(0u, children)
                    | std::views::transform([&](uint32_t i) { return search(tree, filch_child(&parent, i)); });
    std::vector<count> counts = co_await tmc::spawn_many(branches.begin(), branches.end());
    for (const count &each : counts) programs::add(sum, each);
    co_return sum;
}

tmc::task<void> quarters(int32_t *a, int32_t *b, int32_t *c, int n, int stride) {
    if (n <= programs::quarters_leaf) {
        programs::multiply_leaf(a, b, c, n, stride);
        co_return;
    }
    int h = n / 2, down = h * stride;
    co_await tmc::spawn_tuple(quarters(a, b, c, h, stride), quarters(a, b + h, c + h, h, stride),
                              quarters(a + down, b, c + down, h, stride),
                              quarters(a + down, b + h, c + down + h, h, stride));
    co_await tmc::spawn_tuple(quarters(a + h, b + down, c, h, stride), quarters(a + h, b + down + h, c + h, h, stride),
                              quarters(a + down + h, b + down, c + down, h, stride),
                              quarters(a + down + h, b + down + h, c + down + h, h, stride));
}

tmc::task<void> multiply(programs::Product product) {
    if (product.is_leaf()) {
        product.compute();
        co_return;
    }
    programs::Halves both = programs::halves(product);
    if (both.in_turn) {
        co_await multiply(both.first);
        co_await multiply(both.second);
        co_return;
    }
    co_await tmc::spawn_tuple(multiply(both.first), multiply(both.second));
}

tmc::task<void> merge(programs::Runs runs, size_t cutoff) {
    if (runs.len() <= cutoff) {
        runs.merge();
        co_return;
    }
    auto parts = programs::split(runs);
    co_await tmc::spawn_tuple(merge(parts.first, cutoff), merge(parts.second, cutoff));
}

tmc::task<void> sort(uint32_t *keys, uint32_t *scratch, size_t len, size_t cutoff, bool half) {
    if (!half && len <= cutoff) {
        std::sort(keys, keys + len);
        co_return;
    }
    size_t middle = len / 2;
    co_await tmc::spawn_tuple(sort(keys, scratch, middle, cutoff, !half),
                              sort(keys + middle, scratch + middle, len - middle, cutoff, !half));
    uint32_t *from = half ? keys : scratch, *to = half ? scratch : keys;
    co_await merge({from, middle, from + middle, len - middle, to}, cutoff);
}

template <class T>
auto run(tmc::task<T> task) {
    return tmc::post_waitable(tmc::cpu_executor(), std::move(task)).get();
}

const char *version() {
    static const std::string text = std::to_string(TMC_VERSION_MAJOR) + "." + std::to_string(TMC_VERSION_MINOR) + "."
                                    + std::to_string(TMC_VERSION_PATCH);
    return text.c_str();
}

const char *start(size_t workers, size_t) {
    return programs::trying([&] {
        auto &executor = tmc::cpu_executor().set_thread_count(workers);
#ifdef TMC_USE_HWLOC
        executor.set_thread_pinning_level(tmc::topology::thread_pinning_level::CORE);
#endif
        executor.init();
    });
}

void stop() { tmc::cpu_executor().teardown(); }

uint64_t run_fib(uint64_t n, uint64_t cutoff) { return run(cutoff < 2 ? fib(n) : fib_above(n, cutoff)); }

uint64_t run_skynet(unsigned levels) {
    return programs::with_constant<LEAST_LEVELS, MOST_LEVELS>(
        levels, [](auto levels) { return run(skynet<decltype(levels)::value>(0, 0)); });
}

uint64_t run_nqueens(unsigned n) {
    return programs::with_constant<LEAST_QUEENS / 2, MOST_QUEENS / 2>(n / 2, [](auto half) {
        return uint64_t(run(nqueens<2 * decltype(half)::value>(0, std::array<char, 2 * decltype(half)::value>{})));
    });
}

uint64_t run_queens(unsigned n) { return run(queens(programs::Board{{}, 0, uint8_t(n)})); }

void run_uts(const tree *tree, const node *root, count *count) { *count = run(search(tree, *root)); }

void run_quarters(int32_t *a, int32_t *b, int32_t *c, int n) { run(quarters(a, b, c, n, n)); }

void run_matmul(const float *a, const float *b, float *c, uint32_t n) {
    run(multiply(programs::Product{a, b, c, n, n, n, n, false}));
}

void run_cilksort(uint32_t *keys, uint32_t *scratch, size_t len, size_t cutoff) {
    run(sort(keys, scratch, len, cutoff, false));
}

}  // namespace

const scheduler filch_scheduler = {"toomanycooks", version, start,        stop,       run_fib,     run_skynet, run_nqueens,
                                   run_queens,     run_uts, run_quarters, run_matmul, run_cilksort};
