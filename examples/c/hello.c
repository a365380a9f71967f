/* The smallest host: one session, one call, its outcome.
 *
 *     cc hello.c $(pkg-config --cflags --libs zuno) -o hello && ./hello .
 */
#include <zuno.h>

#include <stdio.h>

static int report(zuno_error_t *error) {
    fprintf(stderr, "%s: %s\n", zuno_error_code(error), zuno_error_message(error));
    zuno_error_free(error);
    return 1;
}

int main(void) {
    zuno_error_t *error = NULL;
    zuno_runtime_t *runtime = NULL;
    if (zuno_runtime_open(ZUNO_ABI_VERSION, ZUNO_STR("{\"database\":\":memory:\"}"), NULL, &runtime, &error) != ZUNO_OK)
        return report(error);

    zuno_session_t *session = NULL;
    if (zuno_session_open(runtime, ZUNO_STR("{\"directory\":\".\"}"), &session, &error) != ZUNO_OK)
        return report(error);

    zuno_buf_t *outcomes = NULL;
    zuno_str_t calls = ZUNO_STR("[{\"name\":\"read\",\"arguments\":{\"filePath\":\".\"}}]");
    if (zuno_session_dispatch(session, calls, &outcomes, &error) != ZUNO_OK)
        return report(error);
    puts(zuno_buf_ptr(outcomes));

    zuno_buf_free(outcomes);
    zuno_session_free(session);
    return zuno_runtime_free(runtime);
}
