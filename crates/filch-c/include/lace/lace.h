/* In place of Lace's lace.h. */
#include "../filch-lace.h"
