/* The conveniences around a session, over documents of every shape. */
#include "bench.h"

#define ALLOW "{\"database\":\":memory:\",\"config\":{\"permission\":{\"rules\":{\"edit\":\"allow\",\"shell\":\"allow\"}}," \
              "\"sandbox\":{\"onUnavailable\":\"run-unconfined\"}}}"

static zuno_runtime_t *allowing(void) {
    zuno_error_t *err = NULL;
    zuno_runtime_t *runtime = NULL;
    OK(zuno_runtime_open(ZUNO_ABI_VERSION, ZUNO_STR(ALLOW), NULL, &runtime, &err));
    return runtime;
}

static void life(void) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    zuno_session_t *again = NULL;
    char params[128];
    zuno_runtime_t *runtime = allowing();
    zuno_session_t *session = NULL;
    OK(zuno_session_create(runtime, ZUNO_STR("{\"directory\":\".\",\"title\":\"from C\"}"), &session, &err));
    OK(zuno_session_record(session, &buf, &err));
    zuno_json_t *doc = parsed(buf);
    CHECK(json_is(doc, "/title", "from C") && json_is(doc, "/id", zuno_session_id(session)));
    zuno_json_free(doc);
    snprintf(params, sizeof params, "{\"sessionId\":\"%s\"}", zuno_session_id(session));
    OK(zuno_session_open(runtime, zuno_str(params), &again, &err));
    CHECK(strcmp(zuno_session_id(again), zuno_session_id(session)) == 0);
    zuno_session_free(again);
    FAILS(zuno_session_open(runtime, ZUNO_STR("{\"sessionId\":\"ses_01m8rt7wd86jb5d8mf71eh6kk5\"}"), &again, &err),
          ZUNO_STATUS_NOT_FOUND, "not_found.object");
    FAILS(zuno_session_open(runtime, ZUNO_STR("{\"directory\":\"/no/such/place\"}"), &again, &err),
          ZUNO_STATUS_ARGUMENTS, "arguments.invalid");
    CHECK(again == NULL);
    OK(zuno_session_tools(session, ZUNO_STR("openai"), &buf, &err));
    doc = parsed(buf);
    CHECK(json_is(doc, "/tools/0/type", "function"));
    zuno_json_free(doc);
    OK(zuno_session_tools(session, ZUNO_STR(""), &buf, &err));
    zuno_buf_free(buf);
    FAILS(zuno_session_tools(session, ZUNO_STR("opnai"), &buf, &err), ZUNO_STATUS_ARGUMENTS, "arguments.invalid");
    FAILS(zuno_session_dispatch(session, ZUNO_STR("7"), &buf, &err), ZUNO_STATUS_ARGUMENTS, "arguments.invalid");
    FAILS(zuno_session_dispatch(session, ZUNO_STR("[{]"), &buf, &err), ZUNO_STATUS_ARGUMENTS, "arguments.json");
    doc = dispatch(session, "{\"calls\":[{\"name\":\"glob\",\"arguments\":{\"pattern\":\"*\"}}],\"final\":true}");
    CHECK(zuno_json_count(zuno_json_at(doc, ZUNO_STR("/results"))) == 1);
    zuno_json_free(doc);
    OK(zuno_session_close(session, &err));
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

/* What a C file holds comes back byte by byte. case: 22 */
static void bytes(void) {
    static const char source[] = "char *a = \"\\n\\0\\'\\u2260\\\\\";\n\tint \xe2\x89\xa0;\r\n// caf\xc3\xa9 \xf0\x9f\x91\x8d\n";
    zuno_error_t *err = NULL;
    zuno_buf_t *quoted = NULL;
    char calls[1024], stored[sizeof source + 8];
    zuno_runtime_t *runtime = allowing();
    zuno_session_t *session = session_here(runtime);
    OK(zuno_json_quote(zuno_str(source), &quoted, &err));
    snprintf(calls, sizeof calls, "[{\"name\":\"write\",\"arguments\":{\"filePath\":\"s.c\",\"content\":%s}}]",
             zuno_buf_ptr(quoted));
    zuno_buf_free(quoted);
    zuno_json_t *doc = dispatch(session, calls);
    CHECK(json_is(doc, "/results/0/outcome", "ok"));
    CHECK(json_is(doc, "/results/0/metadata/fileDiffs/0/newText", source));
    zuno_json_free(doc);
    FILE *file = fopen("s.c", "rb");
    CHECK(file != NULL && fread(stored, 1, sizeof stored, file) == sizeof source - 1);
    CHECK(memcmp(stored, source, sizeof source - 1) == 0 && fclose(file) == 0);
    doc = dispatch(session, "[{\"name\":\"read\",\"arguments\":{\"filePath\":\"s.c\",\"limit\":1}}]");
    zuno_str_t text = zuno_json_text(zuno_json_at(doc, ZUNO_STR("/results/0/metadata/display/text")));
    const char *line_end = strchr(source, '\n');
    CHECK(text.len == (size_t)(line_end - source) && memcmp(text.ptr, source, text.len) == 0);
    zuno_json_free(doc);
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

#define ASK "[{\"name\":\"question_async\",\"arguments\":{\"questions\":[{\"header\":\"Go\",\"question\":\"Go on?\"," \
            "\"options\":[{\"label\":\"Yes\",\"description\":\"on\"},{\"label\":\"No\",\"description\":\"stop\"}]}]}}]"

/* Answered once; the same again is the same; another one is refused. case: 89 */
static void questions(void) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    zuno_runtime_t *runtime = allowing();
    zuno_session_t *session = session_here(runtime);
    zuno_json_free(dispatch(session, ASK));
    OK(zuno_question_list(session, &buf, &err));
    zuno_json_t *list = parsed(buf);
    CHECK(zuno_json_count(zuno_json_at(list, ZUNO_STR("/questions"))) == 1);
    zuno_str_t id = zuno_json_text(zuno_json_at(list, ZUNO_STR("/questions/0/id")));
    int64_t revision = zuno_json_int(zuno_json_at(list, ZUNO_STR("/questions/0/revision")), 0);
    FAILS(zuno_question_answer(session, id, revision, ZUNO_STR("[]"), &buf, &err), ZUNO_STATUS_ARGUMENTS,
          "arguments.invalid");
    OK(zuno_question_answer(session, id, revision, ZUNO_STR("{\"q1\":\"Yes\"}"), &buf, &err));
    zuno_json_t *doc = parsed(buf);
    CHECK(json_is(doc, "/question/state", "answered") && json_is(doc, "/question/answers/q1/0", "Yes"));
    CHECK(!zuno_json_bool(zuno_json_at(doc, ZUNO_STR("/duplicate")), true));
    zuno_json_free(doc);
    OK(zuno_question_answer(session, id, revision, ZUNO_STR("{\"q1\":[\"Yes\"]}"), &buf, &err));
    doc = parsed(buf);
    CHECK(zuno_json_bool(zuno_json_at(doc, ZUNO_STR("/duplicate")), false));
    zuno_json_free(doc);
    CHECK(zuno_question_answer(session, id, revision, ZUNO_STR("{\"q1\":[\"No\"]}"), &buf, &err) != ZUNO_OK);
    CHECK(buf == NULL && err != NULL);
    zuno_error_free(err);
    err = NULL;
    FAILS(zuno_question_answer(session, ZUNO_STR("que_0"), 1, ZUNO_STR("{\"q1\":\"Yes\"}"), &buf, &err),
          ZUNO_STATUS_NOT_FOUND, "not_found.object");
    OK(zuno_question_list(session, &buf, &err));
    doc = parsed(buf);
    CHECK(zuno_json_count(zuno_json_at(doc, ZUNO_STR("/questions"))) == 0);
    zuno_json_free(doc);
    zuno_json_free(list);
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

/* One listing shows everything that waits, also to a listener that comes late. case: 91 */
static void waiting(void) {
    zuno_error_t *err = NULL;
    zuno_runtime_t *runtime = NULL;
    OK(zuno_runtime_open(ZUNO_ABI_VERSION, ZUNO_STR("{\"database\":\":memory:\",\"ports\":[\"approval\"]}"), NULL,
                         &runtime, &err));
    zuno_session_t *session = session_here(runtime), *other = session_here(runtime);
    zuno_json_free(dispatch(other, ASK));
    OK(zuno_session_start_dispatch(
        session, ZUNO_STR("[{\"name\":\"write\",\"arguments\":{\"filePath\":\"a\",\"content\":\"b\"}}]"), NULL, NULL,
        &err));
    zuno_buf_t *request = NULL;
    OK(zuno_runtime_next(runtime, 20000, &request, &err));
    CHECK(request != NULL);
    zuno_buf_free(request);
    zuno_json_t *doc = call(runtime, "runtime.waiting", "");
    CHECK(zuno_json_count(zuno_json_at(doc, ZUNO_STR("/waiting"))) == 2);
    bool permission = false, question = false;
    for (size_t i = 0; i < 2; i++) {
        const zuno_json_t *row = zuno_json_item(zuno_json_at(doc, ZUNO_STR("/waiting")), i);
        permission |= json_is(row, "/kind", "permission") && json_is(row, "/sessionId", zuno_session_id(session));
        question |= json_is(row, "/kind", "question") && json_is(row, "/sessionId", zuno_session_id(other));
        CHECK(zuno_json_text(zuno_json_at(row, ZUNO_STR("/id"))).len > 0);
        CHECK(zuno_json_int(zuno_json_at(row, ZUNO_STR("/since")), 0) > 0);
    }
    CHECK(permission && question);
    zuno_json_free(doc);
    zuno_session_free(session);
    zuno_session_free(other);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

/* Subscribed and read: the same events with the same numbers, without a gap. */
static void events(void) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    uint64_t subscription = 0;
    bool removed = false;
    zuno_runtime_t *runtime = allowing();
    zuno_session_t *session = session_here(runtime);
    OK(zuno_session_subscribe(session, 0, false, &subscription, &err));
    zuno_json_free(dispatch(session, "[{\"name\":\"glob\",\"arguments\":{\"pattern\":\"*\"}}]"));
    OK(zuno_session_events(session, 0, 0, &buf, &err));
    zuno_json_t *page = parsed(buf);
    const zuno_json_t *list = zuno_json_at(page, ZUNO_STR("/events"));
    int64_t last = zuno_json_int(zuno_json_at(page, ZUNO_STR("/last")), 0);
    CHECK(last == (int64_t)zuno_json_count(list) && last > 4);
    for (int64_t number = 1; number <= last; number++) {
        OK(zuno_runtime_next(runtime, 20000, &buf, &err));
        CHECK(buf != NULL);
        zuno_json_t *item = parsed(buf);
        CHECK(json_is(item, "/type", "event"));
        CHECK(zuno_json_int(zuno_json_at(item, ZUNO_STR("/subscriptionId")), -1) == (int64_t)subscription);
        CHECK(zuno_json_int(zuno_json_at(item, ZUNO_STR("/event/seq")), 0) == number);
        zuno_json_free(item);
    }
    zuno_json_free(page);
    OK(zuno_session_events(session, 2, 1, &buf, &err));
    page = parsed(buf);
    CHECK(zuno_json_count(zuno_json_at(page, ZUNO_STR("/events"))) == 1);
    CHECK(zuno_json_int(zuno_json_at(page, ZUNO_STR("/events/0/seq")), 0) == 3);
    zuno_json_free(page);
    OK(zuno_runtime_unsubscribe(runtime, subscription, &removed, &err));
    CHECK(removed);
    OK(zuno_runtime_unsubscribe(runtime, subscription, &removed, &err));
    CHECK(!removed);
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

static void *interrupt(void *data) {
    zuno_error_t *err = NULL;
    bool interrupted = false;
    while (!interrupted) {
        OK(zuno_session_interrupt(data, &interrupted, &err));
    }
    return NULL;
}

static void interrupting(void) {
    pthread_t thread;
    zuno_runtime_t *runtime = allowing();
    zuno_session_t *session = session_here(runtime);
    CHECK(pthread_create(&thread, NULL, interrupt, session) == 0);
    zuno_json_t *doc = dispatch(session, "[{\"name\":\"shell\",\"arguments\":{\"command\":\"sleep 300\"}}]");
    CHECK(!json_is(doc, "/results/0/outcome", "ok"));
    zuno_json_free(doc);
    CHECK(pthread_join(thread, NULL) == 0);
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

int main(void) {
    enter_folder();
    life();
    bytes();
    questions();
    waiting();
    events();
    interrupting();
    leave_folder();
    return 0;
}
