/* In place of Lace's lace14.h. */
#include "../filch-lace.h"
