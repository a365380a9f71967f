/* The host's functions: in order, from one thread, answered from any; everything they may do and the one thing not. */
#include "bench.h"

#include <stddef.h>

#define WRITE "[{\"name\":\"write\",\"arguments\":{\"filePath\":\"a.txt\",\"content\":\"one\\n\"}}]"
#define ONCE "{\"reply\":\"once\"}"

typedef struct {
    zuno_runtime_t *runtime;
    zuno_session_t *session;
    zuno_request_t *held;
    counter_t requests, cancels, ops, closed, freed;
    pthread_t thread;
    zuno_status_t seen;
    char outcome[32];
} bench_t;

static bench_t fresh(void) {
    unlink("a.txt");
    bench_t bench = {.requests = COUNTER, .cancels = COUNTER, .ops = COUNTER, .closed = COUNTER, .freed = COUNTER};
    return bench;
}

static void hold(void *data, zuno_request_t *request) {
    bench_t *bench = data;
    CHECK(strcmp(zuno_request_kind(request), "approval") == 0);
    CHECK(strncmp(zuno_request_id(request), "req_", 4) == 0);
    zuno_str_t payload = zuno_request_payload(request);
    CHECK(payload.len == strlen(payload.ptr));
    bench->held = request;
    counter_add(&bench->requests, 1);
}

static void cancelled(void *data, zuno_str_t id) {
    bench_t *bench = data;
    const char *held = zuno_request_id(bench->held);
    CHECK(held == NULL || (id.len == strlen(held) && memcmp(id.ptr, held, id.len) == 0));
    counter_add(&bench->cancels, 1);
}

static void ended(void *data, void *op_data, uint64_t op, zuno_status_t status, zuno_str_t result,
                  const zuno_error_t *error) {
    bench_t *bench = data;
    CHECK(op_data == &bench->ops && op > 0);
    CHECK((status == ZUNO_OK) == (error == NULL) && (status == ZUNO_OK) == (result.ptr != NULL));
    bench->seen = status;
    if (status == ZUNO_OK) {
        zuno_json_t *doc = NULL;
        CHECK(zuno_json_parse(result, &doc, NULL) == ZUNO_OK);
        zuno_str_t outcome = zuno_json_text(zuno_json_at(doc, ZUNO_STR("/results/0/outcome")));
        snprintf(bench->outcome, sizeof bench->outcome, "%.*s", (int)outcome.len, outcome.ptr ? outcome.ptr : "");
        zuno_json_free(doc);
    }
    counter_add(&bench->ops, 1);
}

/* The last callbacks must not free their runtime either, not even while another thread does. */
static void closed(void *data) {
    bench_t *bench = data;
    CHECK(zuno_runtime_free(bench->runtime) == ZUNO_STATUS_WOULD_DEADLOCK);
    counter_add(&bench->closed, 1);
}

static void freed(void *data) {
    bench_t *bench = data;
    CHECK(counter_get(&bench->closed) == 1);
    CHECK(zuno_runtime_free(bench->runtime) == ZUNO_STATUS_WOULD_DEADLOCK);
    counter_add(&bench->freed, 1);
}

static zuno_host_t host_of(bench_t *bench) {
    zuno_host_t host = {.struct_size = sizeof host,
                        .user_data = bench,
                        .on_request = hold,
                        .on_cancel = cancelled,
                        .user_data_free = freed,
                        .on_op = ended,
                        .on_closed = closed};
    return host;
}

static void open_bench(bench_t *bench, zuno_host_t host) {
    bench->runtime = open_with(&host);
    bench->session = session_here(bench->runtime);
}

static void close_bench(bench_t *bench) {
    zuno_session_free(bench->session);
    CHECK(zuno_runtime_free(bench->runtime) == ZUNO_OK);
    CHECK(counter_get(&bench->closed) == 1 && counter_get(&bench->freed) == 1);
}

static void start(bench_t *bench) {
    zuno_error_t *err = NULL;
    OK(zuno_session_start_dispatch(bench->session, ZUNO_STR(WRITE), &bench->ops, NULL, &err));
}

static void *answer(void *data) {
    zuno_error_t *err = NULL;
    bool wanted = false;
    OK(zuno_request_respond(((bench_t *)data)->held, ZUNO_STR(ONCE), &wanted, &err));
    CHECK(wanted);
    return NULL;
}

/* Answered later, from a thread the library does not know. */
static void from_another_thread(void) {
    bench_t bench = fresh();
    pthread_t thread;
    open_bench(&bench, host_of(&bench));
    start(&bench);
    counter_await(&bench.requests, 1);
    CHECK(counter_get(&bench.ops) == 0);
    CHECK(pthread_create(&thread, NULL, answer, &bench) == 0 && pthread_join(thread, NULL) == 0);
    counter_await(&bench.ops, 1);
    CHECK(strcmp(bench.outcome, "ok") == 0);
    close_bench(&bench);
}

/* Every way not to allow: the call is settled, nothing is written, the process lives. case: 98 */
static void refusals(void) {
    zuno_error_t *err = NULL;
    bool wanted = false;
    bench_t bench = fresh();
    open_bench(&bench, host_of(&bench));
    for (int way = 0; way < 6; way++) {
        start(&bench);
        counter_await(&bench.requests, way + 1);
        zuno_request_t *request = bench.held;
        switch (way) {
        case 0:
            OK(zuno_request_respond(request, ZUNO_STR("{\"reply\":\"reject\",\"message\":\"no\"}"), &wanted, &err));
            break;
        case 1:
            OK(zuno_request_fail(request, ZUNO_STR("host.failed"), ZUNO_STR("the window is gone"), &wanted, &err));
            break;
        case 2:
            zuno_request_free(request);
            wanted = true;
            break;
        case 3:
            FAILS(zuno_request_respond(request, ZUNO_STR("yes"), &wanted, &err), ZUNO_STATUS_ARGUMENTS,
                  "arguments.json");
            CHECK(!wanted);
            wanted = true;
            break;
        case 4:
            FAILS(zuno_request_respond(request, ZUNO_STR("\"\xff\""), NULL, &err), ZUNO_STATUS_ARGUMENTS,
                  "arguments.utf8");
            break;
        default:
            /* An answer to another kind of request. case: 89 */
            OK(zuno_request_respond(request, ZUNO_STR("{\"set\":{},\"remove\":[]}"), &wanted, &err));
        }
        CHECK(wanted);
        counter_await(&bench.ops, way + 1);
        CHECK(bench.seen == ZUNO_OK && strcmp(bench.outcome, "blocked") == 0);
        CHECK(access("a.txt", F_OK) != 0);
    }
    close_bench(&bench);
}

/* Never answered: closing ends the call, and the answer that comes after everything is dropped. */
static void after_close(void) {
    zuno_error_t *err = NULL;
    bool wanted = true;
    bench_t bench = fresh();
    open_bench(&bench, host_of(&bench));
    start(&bench);
    counter_await(&bench.requests, 1);
    OK(zuno_runtime_close(bench.runtime, 1000, &err));
    counter_await(&bench.closed, 1);
    CHECK(counter_get(&bench.ops) == 1);
    zuno_session_t *session = bench.session;
    bench.session = NULL;
    close_bench(&bench);
    OK(zuno_request_respond(bench.held, ZUNO_STR(ONCE), &wanted, &err));
    CHECK(!wanted);
    zuno_buf_t *buf = NULL;
    FAILS(zuno_session_record(session, &buf, &err), ZUNO_STATUS_CLOSED, "closed.object");
    CHECK(zuno_session_id(session) != NULL);
    zuno_session_free(session);
    CHECK(access("a.txt", F_OK) != 0);
}

/* Cancelled: the host is told, and its request is still its own. */
static void cancelling(void) {
    zuno_error_t *err = NULL;
    bool running = false;
    uint64_t op = 0;
    bench_t bench = fresh();
    open_bench(&bench, host_of(&bench));
    OK(zuno_session_start_dispatch(bench.session, ZUNO_STR(WRITE), &bench.ops, &op, &err));
    counter_await(&bench.requests, 1);
    OK(zuno_runtime_cancel(bench.runtime, op, &running, &err));
    CHECK(running);
    counter_await(&bench.cancels, 1);
    counter_await(&bench.ops, 1);
    zuno_request_free(bench.held);
    close_bench(&bench);
}

static void calls_back_in(void *data, zuno_request_t *request) {
    bench_t *bench = data;
    zuno_error_t *err = NULL;
    bench->thread = pthread_self();
    /* Queries, and calls that need nobody. */
    zuno_json_free(call(bench->runtime, "runtime.waiting", ""));
    zuno_json_t *read = dispatch(bench->session, "[{\"name\":\"glob\",\"arguments\":{\"pattern\":\"*\"}}]");
    zuno_json_free(read);
    /* The one thing it may not do, and the handle is still good afterwards. */
    CHECK(zuno_runtime_free(bench->runtime) == ZUNO_STATUS_WOULD_DEADLOCK);
    OK(zuno_request_respond(request, ZUNO_STR(ONCE), NULL, &err));
    counter_add(&bench->requests, 1);
}

/* case: 98 */
static void re_entry(void) {
    bench_t bench = fresh();
    zuno_host_t host = host_of(&bench);
    host.on_request = calls_back_in;
    open_bench(&bench, host);
    zuno_session_t *first = bench.session;
    bench.session = session_here(bench.runtime);
    zuno_json_t *doc = dispatch(first, WRITE);
    CHECK(json_is(doc, "/results/0/outcome", "ok"));
    zuno_json_free(doc);
    CHECK(counter_get(&bench.requests) == 1 && !pthread_equal(bench.thread, pthread_self()));
    zuno_session_free(first);
    close_bench(&bench);
}

static void asks_itself(void *data, zuno_request_t *request) {
    bench_t *bench = data;
    zuno_error_t *err = NULL;
    counter_add(&bench->requests, 1);
    if (counter_get(&bench->requests) < 4) {
        /* Needs an approval itself, which a second thread of the runtime delivers meanwhile. */
        zuno_session_t *session = session_here(bench->runtime);
        zuno_json_t *doc = dispatch(session, WRITE);
        CHECK(json_is(doc, "/results/0/outcome", "ok") || json_is(doc, "/results/0/outcome", "error"));
        zuno_json_free(doc);
        zuno_session_free(session);
    }
    OK(zuno_request_respond(request, ZUNO_STR(ONCE), NULL, &err));
}

static void waits_for_itself(void) {
    bench_t bench = fresh();
    zuno_host_t host = host_of(&bench);
    host.on_request = asks_itself;
    open_bench(&bench, host);
    for (int round = 0; round < 2; round++) {
        unlink("a.txt");
        bench.requests.value = 0;
        zuno_json_t *doc = dispatch(bench.session, WRITE);
        zuno_json_free(doc);
        CHECK(counter_get(&bench.requests) == 4);
    }
    close_bench(&bench);
}

static void closes(void *data, zuno_request_t *request) {
    bench_t *bench = data;
    zuno_error_t *err = NULL;
    bool wanted = true;
    OK(zuno_runtime_close(bench->runtime, 200, &err));
    OK(zuno_request_respond(request, ZUNO_STR(ONCE), &wanted, &err));
    CHECK(!wanted);
}

/* A callback may close its runtime; what is left is delivered when it has returned. */
static void closed_by_a_callback(void) {
    bench_t bench = fresh();
    zuno_host_t host = host_of(&bench);
    host.on_request = closes;
    open_bench(&bench, host);
    start(&bench);
    counter_await(&bench.closed, 1);
    CHECK(counter_get(&bench.ops) == 1 && access("a.txt", F_OK) != 0);
    close_bench(&bench);
}

/* A host of the first version: what came later is NULL and not read. */
static void older_host(void) {
    bench_t bench = fresh();
    zuno_host_t host = host_of(&bench);
    host.struct_size = offsetof(zuno_host_t, on_op);
    host.user_data_free = NULL;
    open_bench(&bench, host);
    start(&bench);
    counter_await(&bench.requests, 1);
    zuno_request_free(bench.held);
    zuno_session_free(bench.session);
    CHECK(zuno_runtime_free(bench.runtime) == ZUNO_OK);
    CHECK(counter_get(&bench.ops) == 0 && counter_get(&bench.closed) == 0);
}

/* A host that takes nothing: requests are answered for it, items are dropped, the queue is not for asking. */
static void empty_host(void) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    int fd;
    zuno_host_t host = {.struct_size = sizeof host};
    zuno_runtime_t *runtime = NULL;
    OK(zuno_runtime_open(ZUNO_ABI_VERSION, ZUNO_STR("{\"database\":\":memory:\",\"ports\":[\"approval\"]}"), &host,
                         &runtime, &err));
    zuno_session_t *session = session_here(runtime);
    OK(zuno_session_subscribe(session, 0, true, NULL, &err));
    zuno_json_t *doc = dispatch(session, WRITE);
    CHECK(json_is(doc, "/results/0/outcome", "blocked"));
    zuno_json_free(doc);
    FAILS(zuno_runtime_next(runtime, 0, &buf, &err), ZUNO_STATUS_UNAVAILABLE, "unavailable.feature");
    FAILS(zuno_runtime_fd(runtime, &fd, &err), ZUNO_STATUS_UNAVAILABLE, "unavailable.feature");
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

/* The host's own tool: declared, asked for, answered. */
static void tool_request(void *data, zuno_request_t *request) {
    bench_t *bench = data;
    zuno_error_t *err = NULL;
    if (strcmp(zuno_request_kind(request), "hostTool") != 0) {
        OK(zuno_request_respond(request, ZUNO_STR(ONCE), NULL, &err));
        return;
    }
    zuno_json_t *payload = NULL;
    OK(zuno_json_parse(zuno_request_payload(request), &payload, &err));
    CHECK(json_is(payload, "/tool", "ticket_close") && json_is(payload, "/arguments/id", "T-1"));
    zuno_json_free(payload);
    OK(zuno_request_respond(request, ZUNO_STR("{\"output\":\"closed T-1\"}"), NULL, &err));
    counter_add(&bench->requests, 1);
}

static void host_tool(void) {
    bench_t bench = fresh();
    zuno_host_t host = host_of(&bench);
    host.on_request = tool_request;
    open_bench(&bench, host);
    zuno_json_free(call(bench.runtime, "tool.register",
                        "{\"name\":\"ticket_close\",\"description\":\"Close a ticket.\",\"effect\":\"SideEffecting\","
                        "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"}}}}"));
    zuno_json_t *doc = dispatch(bench.session, "[{\"name\":\"ticket_close\",\"arguments\":{\"id\":\"T-1\"}}]");
    CHECK(json_is(doc, "/results/0/outcome", "ok") && json_is(doc, "/results/0/output", "closed T-1"));
    zuno_json_free(doc);
    CHECK(counter_get(&bench.requests) == 1);
    close_bench(&bench);
}

int main(void) {
    enter_folder();
    refusals();
    after_close();
    cancelling();
    empty_host();
    older_host();
    from_another_thread();
    re_entry();
    waits_for_itself();
    closed_by_a_callback();
    host_tool();
    leave_folder();
    return 0;
}
