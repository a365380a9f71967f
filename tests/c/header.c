/* The header alone is a translation unit. */
#include <zuno.h>
