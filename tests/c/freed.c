/* Handles used after they were freed: undefined, and found by AddressSanitizer. `run` expects its report. */
#include "bench.h"

int main(int count, char **arguments) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    CHECK(count == 2);
    OK(zuno_json_quote(ZUNO_STR("text"), &buf, &err));
    const char *text = zuno_buf_ptr(buf);
    if (strcmp(arguments[1], "read") == 0) {
        zuno_buf_free(buf);
        printf("%c\n", text[1]);
    } else if (strcmp(arguments[1], "buf") == 0) {
        zuno_buf_free(buf);
        zuno_buf_free(buf);
    } else if (strcmp(arguments[1], "error") == 0) {
        zuno_buf_free(buf);
        CHECK(zuno_runtime_close(NULL, 0, &err) == ZUNO_STATUS_ARGUMENTS);
        zuno_error_free(err);
        zuno_error_free(err);
    } else if (strcmp(arguments[1], "session") == 0) {
        zuno_buf_free(buf);
        zuno_runtime_t *runtime = open_with(NULL);
        zuno_session_t *session = session_here(runtime);
        zuno_session_free(session);
        zuno_session_free(session);
    } else {
        CHECK(strcmp(arguments[1], "none") == 0);
        zuno_buf_free(buf);
    }
    return 0;
}
