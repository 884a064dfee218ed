/* Tasks that several units use, in C and in C++. */
#include <filch.h>

#ifdef __cplusplus
extern "C" {
#endif

FILCH_DECLARE(long, in_c, int, n);
FILCH_DECLARE(long, in_cpp, int, n);

#ifdef __cplusplus
}
#endif
