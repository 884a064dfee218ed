/* The C half of examples/mixed.rs. The arguments: workers, way of waiting. */
#include <filch.h>

#include <stdio.h>

long rust_fib(filch_worker worker, int n);
bool rust_main(filch_pool *pool);

FILCH_DECLARE(long, c_fib, int, n);

FILCH_TASK(long, fib_in_rust, int, n)
{
    return rust_fib(FILCH_HERE, n);
}

FILCH_DEFINE(long, c_fib, int, n)
{
    if (n < 2) return n;
    FILCH_SPAWN(fib_in_rust, n - 1);
    FILCH_SPAWN(c_fib, n - 3);
    long a = n < 4 ? FILCH_CALL(c_fib, n - 2) : rust_fib(FILCH_HERE, n - 3) + FILCH_CALL(c_fib, n - 4);
    FILCH_DROP();
    return a + FILCH_SYNC(fib_in_rust);
}

int main(int argc, char **argv)
{
    static filch_settings settings;
    if (argc != 3) return 2;
    settings.workers = (size_t)atoi(argv[1]);
    settings.wait = argv[2];
    filch_pool *pool = filch_pool_start(&settings);
    if (!pool) return 2;
    bool right = FILCH_RUN(pool, c_fib, 20) == 6765 && FILCH_RUN(pool, fib_in_rust, 20) == 6765 && rust_main(pool);
    filch_pool_stop(pool);
    if (!right) fprintf(stderr, "wrong answers\n");
    return !right;
}
