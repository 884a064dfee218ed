/* A panic of Rust in tasks of C. If the frames do not clean up, the process ends; otherwise the panic arrives where it is
 * caught, and no task is left. The C half of examples/mixed.rs for it. */
#include <filch.h>

void rust_panics(int value);
int rust_catches(filch_pool *pool, int (*throws)(struct filch_front_ *, filch_slot_ *, int, int));

FILCH_TASK(long, c_fib, int, n)
{
    return n;
}

FILCH_VOID_TASK(count, int *, ended)
{
    __atomic_fetch_add(ended, 1, __ATOMIC_SEQ_CST);
}

FILCH_TASK(int, panics, int, depth, int, unused)
{
    int ended = 0;
    if (depth == 0) rust_panics(42);
    FILCH_SPAWN(count, &ended);
    FILCH_SPAWN(panics, depth - 1, unused);
    FILCH_SPAWN(count, &ended);
    int own = depth % 2 ? FILCH_CALL(panics, depth - 1, unused) : 0;
    FILCH_SYNC(count);
    own += FILCH_SYNC(panics);
    FILCH_SYNC(count);
    return own + ended;
}

int main(void)
{
    static filch_settings settings;
    settings.workers = 2;
    filch_pool *pool = filch_pool_start(&settings);
    if (!pool) return 2;
#ifdef __EXCEPTIONS
    for (int round = 0; round < 50; round++)
        if (rust_catches(pool, panics) != 8) return 1;
#else
    FILCH_RUN(pool, panics, 7, 0);
#endif
    filch_pool_stop(pool);
    return 0;
}
