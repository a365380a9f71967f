// The header alone, as C++17; its macros and inline functions too.
#include <zuno.h>

zuno_str_t literal() { return ZUNO_STR("a literal"); }
zuno_str_t text(const char *from) { return zuno_str(from); }
