/* A panic of Rust in a task of C, whose frames do not clean up. The C half of examples/mixed.rs for it. */
#include <filch.h>

void rust_panics(int value);
int rust_catches(filch_pool *pool, int (*throws)(struct filch_front_ *, filch_slot_ *, int, int));

FILCH_TASK(long, c_fib, int, n)
{
    return n;
}

FILCH_TASK(int, panics, int, value)
{
    rust_panics(value);
    return value;
}

int main(void)
{
    static filch_settings settings;
    settings.workers = 1;
    filch_pool *pool = filch_pool_start(&settings);
    return pool ? FILCH_RUN(pool, panics, 1) : 2;
}
