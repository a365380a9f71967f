/* The protocol in pull mode, and what is not acceptable. */
#include "bench.h"

#include <poll.h>
#include <stddef.h>

static void versions(void) {
    CHECK(zuno_abi_version() == ZUNO_ABI_VERSION);
    CHECK(strchr(zuno_version(), '.') != NULL);
    CHECK(strcmp(zuno_status_name(ZUNO_OK), "OK") == 0);
    CHECK(strcmp(zuno_status_name(ZUNO_STATUS_WOULD_DEADLOCK), "WOULD_DEADLOCK") == 0);
    CHECK(strcmp(zuno_status_name(-7), "UNKNOWN") == 0);
}

static void opening(void) {
    zuno_error_t *err = NULL;
    zuno_runtime_t *runtime = (zuno_runtime_t *)&err;
    zuno_str_t options = ZUNO_STR(OPTIONS);
    FAILS(zuno_runtime_open(ZUNO_ABI_VERSION + 1, options, NULL, &runtime, &err), ZUNO_STATUS_ABI, "arguments.abi");
    CHECK(runtime == NULL);
    FAILS(zuno_runtime_open(ZUNO_ABI_VERSION, options, NULL, NULL, &err), ZUNO_STATUS_ARGUMENTS, "arguments.null");
    FAILS(zuno_runtime_open(ZUNO_ABI_VERSION, ZUNO_STR("{"), NULL, &runtime, &err), ZUNO_STATUS_ARGUMENTS,
          "arguments.json");
    FAILS(zuno_runtime_open(ZUNO_ABI_VERSION, ZUNO_STR("{\"databse\":\":memory:\"}"), NULL, &runtime, &err),
          ZUNO_STATUS_ARGUMENTS, "arguments.unknown_field");
    FAILS(zuno_runtime_open(ZUNO_ABI_VERSION, ZUNO_STR("{\"database\":\"/no/such/folder/state.db\"}"), NULL, &runtime,
                            &err),
          ZUNO_STATUS_STORE, "store.missing_directory");
    /* Without a place for the error the status is there all the same. */
    CHECK(zuno_runtime_open(0, options, NULL, &runtime, NULL) == ZUNO_STATUS_ABI);
    zuno_host_t host = {0};
    FAILS(zuno_runtime_open(ZUNO_ABI_VERSION, options, &host, &runtime, &err), ZUNO_STATUS_ABI, "arguments.abi");
}

static void texts(void) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    zuno_runtime_t *runtime = open_with(NULL);
    /* {NULL, 0} is the empty text, and empty parameters are none. */
    zuno_str_t nothing = {NULL, 0};
    OK(zuno_runtime_call(runtime, ZUNO_STR("tool.list"), nothing, &buf, &err));
    CHECK(zuno_buf_len(buf) == strlen(zuno_buf_ptr(buf)));
    zuno_buf_free(buf);
    zuno_str_t hollow = {NULL, 3};
    FAILS(zuno_runtime_call(runtime, hollow, nothing, &buf, &err), ZUNO_STATUS_ARGUMENTS, "arguments.null");
    CHECK(buf == NULL);
    zuno_str_t latin1 = ZUNO_STR("tool.l\xefst");
    CHECK(zuno_runtime_call(runtime, latin1, nothing, &buf, &err) == ZUNO_STATUS_ARGUMENTS);
    CHECK(strcmp(zuno_error_code(err), "arguments.utf8") == 0);
    zuno_json_t *details = NULL;
    CHECK(zuno_json_parse(zuno_str(zuno_error_details_json(err)), &details, NULL) == ZUNO_OK);
    CHECK(zuno_json_int(zuno_json_at(details, ZUNO_STR("/offset")), -1) == 6);
    zuno_json_free(details);
    zuno_error_free(err);
    err = NULL;
    /* Cut inside a character, a surrogate, an overlong form, a length no object has. */
    zuno_str_t cut = {"\xe2\x89\xa0", 2}, surrogate = ZUNO_STR("\xed\xa0\x80"), overlong = ZUNO_STR("\xc0\x80");
    zuno_str_t endless = {"x", SIZE_MAX};
    FAILS(zuno_runtime_call(runtime, cut, nothing, &buf, &err), ZUNO_STATUS_ARGUMENTS, "arguments.utf8");
    FAILS(zuno_runtime_call(runtime, surrogate, nothing, &buf, &err), ZUNO_STATUS_ARGUMENTS, "arguments.utf8");
    FAILS(zuno_runtime_call(runtime, overlong, nothing, &buf, &err), ZUNO_STATUS_ARGUMENTS, "arguments.utf8");
    FAILS(zuno_runtime_call(runtime, endless, nothing, &buf, &err), ZUNO_STATUS_ARGUMENTS, "arguments.invalid");
    /* A NUL inside is text like any other; a message shows it without ending at it. */
    FAILS(zuno_runtime_call(runtime, ZUNO_STR("tool\0list"), nothing, &buf, &err), ZUNO_STATUS_ARGUMENTS,
          "arguments.unknown_method");
    FAILS(zuno_runtime_call(runtime, ZUNO_STR("tool.list"), ZUNO_STR("[]"), &buf, &err), ZUNO_STATUS_ARGUMENTS,
          "arguments.invalid");
    FAILS(zuno_runtime_call(runtime, ZUNO_STR("session.get"), ZUNO_STR("{\"sessionId\":\"ses_0\"}"), &buf, &err),
          ZUNO_STATUS_NOT_FOUND, "not_found.object");
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

static zuno_json_t *next(zuno_runtime_t *runtime, int64_t timeout_ms) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    OK(zuno_runtime_next(runtime, timeout_ms, &buf, &err));
    return buf == NULL ? NULL : parsed(buf);
}

/* The next item of a type; others are skipped. */
static zuno_json_t *await_item(zuno_runtime_t *runtime, const char *type) {
    for (;;) {
        zuno_json_t *item = next(runtime, 20000);
        CHECK(item != NULL);
        if (json_is(item, "/type", type)) {
            return item;
        }
        zuno_json_free(item);
    }
}

static void operations(void) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    uint64_t op = 0;
    bool running = true;
    zuno_runtime_t *runtime = open_with(NULL);
    CHECK(next(runtime, 0) == NULL);
    CHECK(next(runtime, 1) == NULL);
    OK(zuno_runtime_start(runtime, ZUNO_STR("tool.list"), ZUNO_STR(""), NULL, &op, &err));
    CHECK(op > 0);
    zuno_json_t *item = await_item(runtime, "op");
    CHECK(zuno_json_int(zuno_json_at(item, ZUNO_STR("/id")), 0) == (int64_t)op);
    CHECK(zuno_json_type(zuno_json_at(item, ZUNO_STR("/error"))) == ZUNO_JSON_NULL);
    CHECK(zuno_json_count(zuno_json_at(item, ZUNO_STR("/result/tools"))) > 4);
    zuno_json_free(item);
    /* What is wrong with the parameters is told by the end too, and nobody has to want the id. */
    OK(zuno_runtime_start(runtime, ZUNO_STR("tool.lits"), ZUNO_STR("{"), NULL, NULL, &err));
    item = await_item(runtime, "op");
    CHECK(json_is(item, "/error/code", "arguments.json"));
    zuno_json_free(item);
    OK(zuno_runtime_cancel(runtime, op, &running, &err));
    CHECK(!running);
    OK(zuno_runtime_close(runtime, 1000, &err));
    OK(zuno_runtime_close(runtime, -1, &err));
    FAILS(zuno_runtime_start(runtime, ZUNO_STR("tool.list"), ZUNO_STR(""), NULL, &op, &err), ZUNO_STATUS_CLOSED,
          "closed.object");
    CHECK(op == 0);
    item = await_item(runtime, "closed");
    zuno_json_free(item);
    FAILS(zuno_runtime_next(runtime, -1, &buf, &err), ZUNO_STATUS_CLOSED, "closed.object");
    FAILS(zuno_runtime_next(runtime, 0, &buf, &err), ZUNO_STATUS_CLOSED, "closed.object");
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

/* Requests answered by their id; a running operation cancelled; both get their end. */
static void requests_by_id(void) {
    zuno_error_t *err = NULL;
    zuno_runtime_t *runtime = NULL;
    bool wanted = false, running = false;
    uint64_t op = 0;
    OK(zuno_runtime_open(ZUNO_ABI_VERSION, ZUNO_STR("{\"database\":\":memory:\",\"ports\":[\"approval\"]}"), NULL,
                         &runtime, &err));
    zuno_session_t *session = session_here(runtime);
    zuno_str_t calls = ZUNO_STR("[{\"name\":\"write\",\"arguments\":{\"filePath\":\"a\",\"content\":\"b\"}}]");
    OK(zuno_session_start_dispatch(session, calls, NULL, &op, &err));
    zuno_json_t *item = await_item(runtime, "request");
    zuno_str_t id = zuno_json_text(zuno_json_at(item, ZUNO_STR("/id")));
    CHECK(json_is(item, "/kind", "approval") && json_is(item, "/payload/tool", "write"));
    FAILS(zuno_runtime_respond(runtime, id, ZUNO_STR("yes"), &wanted, &err), ZUNO_STATUS_ARGUMENTS, "arguments.json");
    OK(zuno_runtime_respond(runtime, ZUNO_STR("req_none"), ZUNO_STR("{}"), &wanted, &err));
    CHECK(!wanted);
    OK(zuno_runtime_respond(runtime, id, ZUNO_STR("{\"reply\":\"once\"}"), &wanted, &err));
    CHECK(wanted);
    /* case: 89 */
    OK(zuno_runtime_respond(runtime, id, ZUNO_STR("{\"reply\":\"reject\"}"), &wanted, &err));
    CHECK(!wanted);
    OK(zuno_runtime_fail(runtime, id, ZUNO_STR("host.failed"), ZUNO_STR("late"), &wanted, &err));
    CHECK(!wanted);
    zuno_json_free(item);
    item = await_item(runtime, "op");
    CHECK(json_is(item, "/result/results/0/outcome", "ok"));
    zuno_json_free(item);

    OK(zuno_session_start_dispatch(session, calls, NULL, &op, &err));
    item = await_item(runtime, "request");
    id = zuno_json_text(zuno_json_at(item, ZUNO_STR("/id")));
    OK(zuno_runtime_cancel(runtime, op, &running, &err));
    CHECK(running);
    /* The withdrawal and the end, in whichever order. */
    for (int left = 2; left > 0;) {
        zuno_json_t *told = next(runtime, 20000);
        CHECK(told != NULL);
        if (json_is(told, "/type", "cancelled")) {
            zuno_str_t withdrawn = zuno_json_text(zuno_json_at(told, ZUNO_STR("/requestId")));
            CHECK(withdrawn.len == id.len && memcmp(withdrawn.ptr, id.ptr, id.len) == 0);
            left--;
        }
        left -= json_is(told, "/type", "op");
        zuno_json_free(told);
    }
    OK(zuno_runtime_respond(runtime, id, ZUNO_STR("{\"reply\":\"once\"}"), &wanted, &err));
    CHECK(!wanted);
    zuno_json_free(item);
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

static bool readable(int fd, int timeout_ms) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, timeout_ms) == 1;
}

static void descriptor(void) {
    zuno_error_t *err = NULL;
    int fd = 0, again = 0;
    zuno_runtime_t *runtime = open_with(NULL);
    /* An item that came before somebody looked is announced too. */
    OK(zuno_runtime_start(runtime, ZUNO_STR("tool.list"), ZUNO_STR(""), NULL, NULL, &err));
    OK(zuno_runtime_fd(runtime, &fd, &err));
    OK(zuno_runtime_fd(runtime, &again, &err));
    CHECK(fd >= 0 && fd == again);
    CHECK(readable(fd, 20000));
    zuno_json_free(await_item(runtime, "op"));
    CHECK(next(runtime, 0) == NULL);
    CHECK(!readable(fd, 0));
    for (int round = 0; round < 50; round++) {
        OK(zuno_runtime_start(runtime, ZUNO_STR("runtime.waiting"), ZUNO_STR(""), NULL, NULL, &err));
        OK(zuno_runtime_start(runtime, ZUNO_STR("runtime.waiting"), ZUNO_STR(""), NULL, NULL, &err));
        for (int ends = 0; ends < 2;) {
            CHECK(readable(fd, 20000));
            zuno_json_t *item = next(runtime, 0);
            ends += item != NULL;
            zuno_json_free(item);
        }
    }
    OK(zuno_runtime_close(runtime, 1000, &err));
    CHECK(readable(fd, 20000));
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

static void json(void) {
    zuno_error_t *err = NULL;
    zuno_json_t *doc = NULL;
    zuno_buf_t *buf = NULL;
    FAILS(zuno_json_parse(ZUNO_STR("{]"), &doc, &err), ZUNO_STATUS_ARGUMENTS, "arguments.json");
    OK(zuno_json_parse(ZUNO_STR("{\"b\":[1,-2.5,true,null,\"x\\u0000y\"],\"a/b\":{}}"), &doc, &err));
    CHECK(zuno_json_count(doc) == 2);
    zuno_str_t key = zuno_json_key(doc, 0);
    CHECK(key.len == 1 && key.ptr[0] == 'b');
    const zuno_json_t *list = zuno_json_item(doc, 0);
    CHECK(zuno_json_count(list) == 5 && zuno_json_item(list, 5) == NULL);
    CHECK(zuno_json_int(zuno_json_item(list, 0), 9) == 1 && zuno_json_int(zuno_json_item(list, 1), 9) == 9);
    CHECK(zuno_json_number(zuno_json_item(list, 1), 0) < -2.4);
    CHECK(zuno_json_bool(zuno_json_item(list, 2), false) && zuno_json_bool(zuno_json_item(list, 3), true));
    CHECK(zuno_json_text(zuno_json_item(list, 4)).len == 3 && zuno_json_text(list).ptr == NULL);
    CHECK(!zuno_json_is(zuno_json_item(list, 4), "x"));
    CHECK(zuno_json_type(zuno_json_at(doc, ZUNO_STR("/a~1b"))) == ZUNO_JSON_OBJECT);
    CHECK(zuno_json_at(doc, ZUNO_STR("/none/0")) == NULL && zuno_json_at(doc, ZUNO_STR("\xff")) == NULL);
    CHECK(zuno_json_at(doc, ZUNO_STR("")) == doc);
    OK(zuno_json_write(list, &buf, &err));
    CHECK(strcmp(zuno_buf_ptr(buf), "[1,-2.5,true,null,\"x\\u0000y\"]") == 0);
    zuno_buf_free(buf);
    OK(zuno_json_quote(ZUNO_STR("say \"hi\"\n\0\xe2\x89\xa0"), &buf, &err));
    CHECK(strcmp(zuno_buf_ptr(buf), "\"say \\\"hi\\\"\\n\\u0000\xe2\x89\xa0\"") == 0);
    zuno_buf_free(buf);
    zuno_json_free(doc);
}

int main(void) {
    enter_folder();
    versions();
    opening();
    texts();
    operations();
    requests_by_id();
    descriptor();
    json();
    leave_folder();
    return 0;
}
