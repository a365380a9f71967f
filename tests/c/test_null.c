/* NULL everywhere: a typed status or a harmless answer, never a crash. */
#include "bench.h"

#define NULL_IS_REFUSED(call) FAILS(call, ZUNO_STATUS_ARGUMENTS, "arguments.null")

static void without_handles(void) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    zuno_session_t *session = NULL;
    zuno_json_t *doc = NULL;
    zuno_str_t text = ZUNO_STR("{}");
    int fd = 0;
    NULL_IS_REFUSED(zuno_runtime_call(NULL, text, text, &buf, &err));
    NULL_IS_REFUSED(zuno_runtime_start(NULL, text, text, NULL, NULL, &err));
    NULL_IS_REFUSED(zuno_runtime_cancel(NULL, 1, NULL, &err));
    NULL_IS_REFUSED(zuno_runtime_respond(NULL, text, text, NULL, &err));
    NULL_IS_REFUSED(zuno_runtime_fail(NULL, text, text, text, NULL, &err));
    NULL_IS_REFUSED(zuno_runtime_next(NULL, 0, &buf, &err));
    NULL_IS_REFUSED(zuno_runtime_fd(NULL, &fd, &err));
    CHECK(fd == -1);
    NULL_IS_REFUSED(zuno_runtime_close(NULL, 0, &err));
    NULL_IS_REFUSED(zuno_runtime_unsubscribe(NULL, 1, NULL, &err));
    NULL_IS_REFUSED(zuno_request_respond(NULL, text, NULL, &err));
    NULL_IS_REFUSED(zuno_request_fail(NULL, text, text, NULL, &err));
    NULL_IS_REFUSED(zuno_session_create(NULL, text, &session, &err));
    NULL_IS_REFUSED(zuno_session_open(NULL, text, &session, &err));
    NULL_IS_REFUSED(zuno_session_record(NULL, &buf, &err));
    NULL_IS_REFUSED(zuno_session_tools(NULL, text, &buf, &err));
    NULL_IS_REFUSED(zuno_session_dispatch(NULL, text, &buf, &err));
    NULL_IS_REFUSED(zuno_session_start_dispatch(NULL, text, NULL, NULL, &err));
    NULL_IS_REFUSED(zuno_session_interrupt(NULL, NULL, &err));
    NULL_IS_REFUSED(zuno_session_close(NULL, &err));
    NULL_IS_REFUSED(zuno_session_subscribe(NULL, -1, true, NULL, &err));
    NULL_IS_REFUSED(zuno_session_events(NULL, 0, 0, &buf, &err));
    NULL_IS_REFUSED(zuno_question_list(NULL, &buf, &err));
    NULL_IS_REFUSED(zuno_question_answer(NULL, text, 1, text, &buf, &err));
    NULL_IS_REFUSED(zuno_json_parse(text, NULL, &err));
    NULL_IS_REFUSED(zuno_json_write(NULL, &buf, &err));
    NULL_IS_REFUSED(zuno_json_quote(text, NULL, &err));
    CHECK(buf == NULL && session == NULL && doc == NULL);
    /* The error itself is optional everywhere. */
    CHECK(zuno_runtime_call(NULL, text, text, &buf, NULL) == ZUNO_STATUS_ARGUMENTS);
    CHECK(zuno_session_dispatch(NULL, text, &buf, NULL) == ZUNO_STATUS_ARGUMENTS);
}

static void without_places(void) {
    zuno_error_t *err = NULL;
    zuno_str_t empty = {NULL, 0};
    zuno_runtime_t *runtime = open_with(NULL);
    zuno_session_t *session = session_here(runtime);
    NULL_IS_REFUSED(zuno_runtime_call(runtime, ZUNO_STR("tool.list"), empty, NULL, &err));
    NULL_IS_REFUSED(zuno_runtime_next(runtime, 0, NULL, &err));
    NULL_IS_REFUSED(zuno_session_open(runtime, ZUNO_STR("{\"directory\":\".\"}"), NULL, &err));
    NULL_IS_REFUSED(zuno_session_dispatch(session, ZUNO_STR("[]"), NULL, &err));
    OK(zuno_runtime_fd(runtime, NULL, &err));
    OK(zuno_session_interrupt(session, NULL, &err));
    OK(zuno_session_subscribe(session, -1, true, NULL, &err));
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

static void questions_about_nothing(void) {
    CHECK(zuno_buf_ptr(NULL) == NULL && zuno_buf_len(NULL) == 0);
    CHECK(zuno_error_status(NULL) == ZUNO_OK && zuno_error_code(NULL) == NULL && zuno_error_message(NULL) == NULL);
    CHECK(zuno_error_details_json(NULL) == NULL);
    CHECK(zuno_request_id(NULL) == NULL && zuno_request_kind(NULL) == NULL && zuno_request_payload(NULL).len == 0);
    CHECK(zuno_session_id(NULL) == NULL);
    CHECK(zuno_json_at(NULL, ZUNO_STR("/a")) == NULL && zuno_json_item(NULL, 0) == NULL);
    CHECK(zuno_json_key(NULL, 0).ptr == NULL && zuno_json_count(NULL) == 0);
    CHECK(zuno_json_type(NULL) == ZUNO_JSON_ABSENT && zuno_json_text(NULL).ptr == NULL);
    CHECK(!zuno_json_is(NULL, "x") && !zuno_json_is(NULL, NULL) && zuno_json_int(NULL, 7) == 7);
    CHECK(zuno_json_number(NULL, 0.5) > 0.4 && zuno_json_bool(NULL, true));
    zuno_buf_free(NULL);
    zuno_error_free(NULL);
    zuno_request_free(NULL);
    zuno_session_free(NULL);
    zuno_json_free(NULL);
    CHECK(zuno_runtime_free(NULL) == ZUNO_OK);
}

int main(void) {
    enter_folder();
    without_handles();
    without_places();
    questions_about_nothing();
    leave_folder();
    return 0;
}
