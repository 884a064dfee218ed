// Panics of Rust that cross tasks in C++, and the C half of examples/mixed.rs for them. The arguments: workers, way of
// waiting.
#include <filch.hpp>

#include <cstdio>

extern "C" {
void rust_panics(int value);
int rust_catches(filch_pool *pool, int (*throws)(filch_front_ *, filch_slot_ *, int, int));
FILCH_TASK(long, c_fib, int, n)
{
    return n;
}
}

namespace {

std::atomic<int> alive{0};
struct counted {
    counted() { ++alive; }
    ~counted() { --alive; }
};

FILCH_VOID_TASK(nothing) {}

/// Panics at the bottom, in a spawned task, in one that is called or in a branch, with tasks spawned above and below.
FILCH_TASK(int, throws, int, depth, int, way)
{
    counted here;
    if (depth == 0) rust_panics(42);
    FILCH_SPAWN(nothing);
    int own = 0;
    switch (way % 4) {
    case 0:
        FILCH_SPAWN(throws, depth - 1, way + 1);
        FILCH_CALL(nothing);
        own = FILCH_SYNC(throws);
        break;
    case 1:
        FILCH_SPAWN(nothing);
        own = FILCH_CALL(throws, depth - 1, way + 1);
        FILCH_SYNC(nothing);
        break;
    case 2:
        filch::join(FILCH_HERE, [=](filch_worker w) { return FILCH_AT(w, throws, depth - 1, way + 1); },
            [](filch_worker) { return counted(), 0; });
        break;
    default:
        filch::join(FILCH_HERE, [](filch_worker) { return counted(), 0; },
            [=](filch_worker w) { return FILCH_AT(w, throws, depth - 1, way + 1); });
    }
    FILCH_SYNC(nothing);
    return own;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    filch_settings settings{};
    settings.workers = static_cast<size_t>(std::atoi(argv[1]));
    settings.wait = argv[2];
    filch::pool pool(settings);
    for (int round = 0; round < 50; ++round) {
        int caught = rust_catches(pool.get(), throws);
        if (caught != 8 || alive != 0) {
            std::fprintf(stderr, "%d of 8 panics caught, %d objects alive\n", caught, alive.load());
            return 1;
        }
    }
    return 0;
}
