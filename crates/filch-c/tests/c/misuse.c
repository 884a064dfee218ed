/* Each rule that a debug build asserts, broken in a way that the argument says. */
#include <filch.h>

#include <string.h>

static const char *way;

static bool is(const char *name)
{
    return strcmp(way, name) == 0;
}

FILCH_TASK(int, one) { return 1; }
FILCH_TASK(int, two) { return 2; }

FILCH_TASK(int, leaves_one)
{
    FILCH_SPAWN(one);
    FILCH_SPAWN(two); /* left */
    FILCH_SPAWN(one);
    FILCH_SYNC(one);
    return 0;
}

FILCH_TASK(int, leaves_many)
{
    for (int i = 0; i < 20; i++) FILCH_SPAWN(one);
    return 0;
}

FILCH_TASK(int, joins_the_other)
{
    FILCH_SPAWN(one);
    FILCH_SPAWN(two);
    return FILCH_SYNC(one) + FILCH_SYNC(two); /* in the wrong order */
}

FILCH_TASK(int, joins_nothing)
{
    return FILCH_SYNC(one); /* none */
}

FILCH_TASK(int, drops_nothing)
{
    FILCH_DROP(); /* nothing */
    return 0;
}

FILCH_TASK(int, overflows, int, depth)
{
    volatile char frame[512];
    frame[0] = (char)depth;
    if (!way[0]) return 0;
    FILCH_SPAWN(one);
    int below = FILCH_CALL(overflows, depth + 1);
    return below + FILCH_SYNC(one) + frame[0];
}

/* On a thread of the pool's own, whatever the caller's stack is. */
FILCH_TASK(int, overflows_elsewhere)
{
    FILCH_SPAWN(overflows, 0);
    while (filch_worker_index() >= 0) filch_poll(FILCH_HERE);
    return FILCH_SYNC(overflows);
}

int main(int argc, char **argv)
{
    static filch_settings settings;
    settings.workers = 1;
    if (argc != 2) return 2;
    way = argv[1];
    if (is("overflow")) settings.workers = 2;
    filch_pool *pool = filch_pool_start(&settings);
    if (!pool) return 2;
    if (is("leave")) FILCH_RUN(pool, leaves_one);
    if (is("leave many")) FILCH_RUN(pool, leaves_many);
    if (is("order")) FILCH_RUN(pool, joins_the_other);
    if (is("none")) FILCH_RUN(pool, joins_nothing);
    if (is("drop")) FILCH_RUN(pool, drops_nothing);
    if (is("overflow")) FILCH_RUN(pool, overflows_elsewhere);
    filch_pool_stop(pool);
    return 0;
}
