// A task in C++ that spawns one in C, and the program. The arguments: workers, way of waiting.
#include "units.h"

FILCH_DEFINE(long, in_cpp, int, n)
{
    if (n < 2) return n;
    FILCH_SPAWN(in_c, n - 1);
    long a = FILCH_CALL(in_cpp, n - 2);
    return a + FILCH_SYNC(in_c);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    filch_settings settings{};
    settings.workers = static_cast<size_t>(std::atoi(argv[1]));
    settings.wait = argv[2];
    filch_pool *pool = filch_pool_start(&settings);
    bool right = pool && FILCH_RUN(pool, in_c, 20) == 6765 && FILCH_RUN(pool, in_cpp, 20) == 6765;
    filch_pool_stop(pool);
    return !right;
}
