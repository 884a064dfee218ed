/* A task in C that spawns one in C++. */
#include "units.h"

FILCH_DEFINE(long, in_c, int, n)
{
    if (n < 2) return n;
    FILCH_SPAWN(in_cpp, n - 1);
    long a = FILCH_CALL(in_c, n - 2);
    return a + FILCH_SYNC(in_cpp);
}
