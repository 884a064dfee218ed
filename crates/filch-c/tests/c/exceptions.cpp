// Joins, loops and tasks in C++: results of all kinds, and exceptions across forks and thefts. On a pool as the
// arguments say: workers, way of waiting.
#include <filch.hpp>

#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace {

void check(bool holds, const char *what, int line)
{
    if (holds) return;
    std::fprintf(stderr, "exceptions.cpp:%d: %s\n", line, what);
    std::exit(1);
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

/// Counts its instances.
struct counted {
    static std::atomic<int> alive;
    int value;
    explicit counted(int value) : value(value) { ++alive; }
    counted(const counted &other) : value(other.value) { ++alive; }
    ~counted() { --alive; }
};
std::atomic<int> counted::alive{0};

template <class F> int thrown_by(F f)
{
    try {
        f();
    } catch (const counted &thrown) {
        return thrown.value;
    }
    return 0;
}

long fib_here(int n)
{
    if (n < 2) return n;
    auto [a, b] = filch::join([=] { return fib_here(n - 1); }, [=] { return fib_here(n - 2); });
    return a + b;
}

long fib_on(filch_worker worker, int n)
{
    if (n < 2) return n;
    auto [a, b] = filch::join(
        worker, [=](filch_worker w) { return fib_on(w, n - 1); }, [=](filch_worker w) { return fib_on(w, n - 2); });
    return a + b;
}

/// A tree whose leaves throw if their number is `bad`; all branches and results are large or not trivial.
std::string tree(filch_worker worker, int depth, int number, int bad, counted kept)
{
    if (depth == 0) {
        if (number == bad) throw counted(number);
        return std::to_string(kept.value);
    }
    auto [left, right] = filch::join(
        worker, [&, kept](filch_worker w) { return tree(w, depth - 1, 2 * number, bad, kept); },
        [&, kept](filch_worker w) { return tree(w, depth - 1, 2 * number + 1, bad, kept); });
    return left + right;
}

std::string tree_here(int depth, int number, int bad, counted kept)
{
    if (depth == 0) {
        if (number == bad) throw counted(number);
        return std::to_string(kept.value);
    }
    auto [left, right] = filch::join([&, kept] { return tree_here(depth - 1, 2 * number, bad, kept); },
        [&, kept] { return tree_here(depth - 1, 2 * number + 1, bad, kept); });
    return left + right;
}

/// The same as a task, whose leaves throw while others are spawned above and below.
FILCH_TASK(int, leaves, int, depth, int, number, int, bad)
{
    counted here(number);
    if (depth == 0) {
        if (number == bad) throw counted(number);
        return 1;
    }
    FILCH_SPAWN(leaves, depth - 1, 2 * number, bad);
    FILCH_SPAWN(leaves, depth - 1, 2 * number + 1, -1);
    int own = FILCH_CALL(leaves, depth - 1, 2 * number + 1, bad);
    own += FILCH_SYNC(leaves);
    return own + FILCH_SYNC(leaves);
}

FILCH_VOID_TASK(throws, int, value)
{
    throw counted(value);
}

/// Drops tasks that throw, which must not show.
FILCH_TASK(int, drops, int, depth)
{
    if (depth == 0) return 1;
    FILCH_SPAWN(throws, 1);
    FILCH_SPAWN(drops, depth - 1);
    int own = FILCH_CALL(drops, depth - 1);
    own += FILCH_SYNC(drops);
    FILCH_DROP();
    return own;
}

/// An argument that fits no slot.
struct large {
    long numbers[20];
};
FILCH_TASK(large, throws_large, large, arguments)
{
    if (arguments.numbers[0] == 5) throw counted(5);
    return arguments;
}

FILCH_TASK(long, larges, int, depth)
{
    if (depth == 0) return 0;
    large two{{2}}, five{{5}};
    FILCH_SPAWN(throws_large, two);
    FILCH_SPAWN(throws_large, five);
    FILCH_SPAWN(throws_large, two);
    long sum = FILCH_CALL(larges, depth - 1);
    sum += FILCH_SYNC(throws_large).numbers[0];
    int thrown = 0;
    try {
        FILCH_SYNC(throws_large);
    } catch (const counted &exception) {
        thrown = exception.value;
    }
    CHECK(thrown == 5);
    return sum + FILCH_SYNC(throws_large).numbers[0];
}

} // namespace

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    filch_settings settings{};
    settings.workers = static_cast<size_t>(std::atoi(argv[1]));
    settings.wait = argv[2];
    {
        filch::pool pool(settings);

        // Results of all kinds.
        CHECK(pool.run([](filch_worker w) { return fib_on(w, 20); }) == 6765);
        CHECK(pool.run([](filch_worker) { return fib_here(12); }) == 144);
        CHECK(fib_here(15) == 610);
        auto moved = filch::join([] { return std::make_unique<int>(1); }, [] { return std::make_unique<int>(2); });
        CHECK(*moved.first == 1 && *moved.second == 2);
        int set = 0;
        auto nothing = filch::join([&] { set += 1; }, [] {});
        CHECK(set == 1 && nothing == std::pair(std::monostate(), std::monostate()));
        pool.run([&](filch_worker w) {
            auto owned = std::make_unique<int>(3);
            auto both = filch::join(
                w, [](filch_worker) { return std::string("first"); },
                [owned = std::move(owned)](filch_worker) { return *owned; });
            CHECK(both == std::pair(std::string("first"), 3));
            filch::join(w, [](filch_worker) {}, [](filch_worker) {});
        });

        // Each leaf throws once, in every style; no object is lost or destroyed twice.
        for (int bad = 0; bad < 32; ++bad) {
            auto on = [&] { pool.run([&](filch_worker w) { return tree(w, 5, 0, bad, counted(bad)); }); };
            auto here = [&] { tree_here(5, 0, bad, counted(bad)); };
            auto inside = [&] { pool.run([&](filch_worker) { return tree_here(5, 0, bad, counted(bad)); }); };
            auto task = [&] { FILCH_RUN(pool.get(), leaves, 5, 0, bad); };
            CHECK(thrown_by(on) == bad);
            CHECK(thrown_by(here) == bad);
            CHECK(thrown_by(inside) == bad);
            CHECK(thrown_by(task) == bad);
            CHECK(counted::alive == 0);
        }
        CHECK(pool.run([](filch_worker w) { return tree(w, 5, 0, -1, counted(1)); }) == std::string(32, '1'));
        CHECK(FILCH_RUN(pool.get(), leaves, 5, 0, -1) == 243);
        CHECK(FILCH_RUN(pool.get(), drops, 8) == 256);
        CHECK(FILCH_RUN(pool.get(), larges, 100) == 400);
        CHECK(counted::alive == 0);

        // If both branches throw, the first one's exception counts.
        for (int round = 0; round < 100; ++round) {
            CHECK(thrown_by([] { filch::join([] { throw counted(1); }, [] { throw counted(2); }); }) == 1);
            CHECK(thrown_by([] { filch::join([] {}, [] { throw counted(2); }); }) == 2);
            CHECK(thrown_by([&] {
                pool.run([](filch_worker w) {
                    filch::join(w, [](filch_worker) { throw counted(1); }, [](filch_worker) { throw counted(2); });
                });
            }) == 1);
        }

        // Loops.
        std::vector<int> numbers(1000);
        filch::for_each(0, 1000, [&](int i) { numbers[i] = i; });
        filch::for_each(numbers.begin(), numbers.end(), [](int &n) { n *= 2; });
        filch::for_each(5, 5, [&](int) { throw counted(1); });
        filch::for_each(7, 5, [&](int) { throw counted(1); });
        CHECK(std::accumulate(numbers.begin(), numbers.end(), 0) == 999000);
        auto loop = [&] {
            filch::for_each(size_t(0), size_t(1000), [](size_t i) {
                if (i == 777) throw counted(777);
            });
        };
        CHECK(thrown_by(loop) == 777);
        CHECK(thrown_by([&] { pool.run([&](filch_worker) { loop(); }); }) == 777);
        CHECK(counted::alive == 0);
    }
    settings.wait = "standing";
    try {
        filch::pool pool(settings);
        CHECK(false);
    } catch (const std::runtime_error &error) {
        CHECK(std::strstr(error.what(), "standing"));
    }
    return 0;
}
