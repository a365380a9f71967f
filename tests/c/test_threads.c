/* Many threads on one handle, and a consumer that lags behind. */
#include "bench.h"

#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 25 };

typedef struct {
    zuno_runtime_t *runtime;
    zuno_session_t *session;
    atomic_int requests, events, lost, ends;
    counter_t done;
} bench_t;

static void answer(void *data, zuno_request_t *request) {
    atomic_fetch_add(&((bench_t *)data)->requests, 1);
    CHECK(zuno_request_respond(request, ZUNO_STR("{\"reply\":\"once\"}"), NULL, NULL) == ZUNO_OK);
}

static void count_event(void *data, uint64_t subscription, zuno_str_t event) {
    bench_t *bench = data;
    CHECK(subscription > 0 && event.len == strlen(event.ptr));
    atomic_fetch_add(&bench->events, 1);
    usleep(20);
}

static void count_end(void *data, void *op_data, uint64_t op, zuno_status_t status, zuno_str_t result,
                      const zuno_error_t *error) {
    bench_t *bench = data;
    (void)op, (void)result, (void)error;
    CHECK(op_data == bench);
    CHECK(status == ZUNO_OK || status == ZUNO_STATUS_CANCELED || status == ZUNO_STATUS_CLOSED);
    atomic_fetch_add(&bench->ends, 1);
    counter_add(&bench->done, 1);
}

static zuno_host_t host_of(bench_t *bench) {
    zuno_host_t host = {.struct_size = sizeof host,
                        .user_data = bench,
                        .on_request = answer,
                        .on_event = count_event,
                        .on_op = count_end};
    return host;
}

static void *everything(void *data) {
    bench_t *bench = data;
    zuno_error_t *err = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t op = 0;
        zuno_buf_t *buf = NULL;
        zuno_json_free(call(bench->runtime, "runtime.waiting", ""));
        zuno_json_free(dispatch(bench->session, "[{\"name\":\"glob\",\"arguments\":{\"pattern\":\"*\"}}]"));
        OK(zuno_session_record(bench->session, &buf, &err));
        zuno_buf_free(buf);
        OK(zuno_runtime_start(bench->runtime, ZUNO_STR("runtime.diagnostics"), ZUNO_STR(""), bench, &op, &err));
        OK(zuno_runtime_cancel(bench->runtime, op, NULL, &err));
        zuno_session_t *own = session_here(bench->runtime);
        zuno_session_free(own);
    }
    return NULL;
}

static void one_handle(void) {
    bench_t bench = {.done = COUNTER};
    zuno_host_t host = host_of(&bench);
    pthread_t threads[THREADS];
    bench.runtime = open_with(&host);
    bench.session = session_here(bench.runtime);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, everything, &bench) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    zuno_session_free(bench.session);
    CHECK(zuno_runtime_free(bench.runtime) == ZUNO_OK);
    /* Exactly one end each, all of them delivered before `_free` returned. */
    CHECK(atomic_load(&bench.ends) == THREADS * ROUNDS);
}

/* Events nobody keeps up with, and an approval for every call: no deadlock, complete results. case: 95 */
static void slow_consumer(int calls) {
    bench_t bench = {.done = COUNTER};
    zuno_error_t *err = NULL;
    char call_text[256];
    zuno_host_t host = host_of(&bench);
    bench.runtime = open_with(&host);
    bench.session = session_here(bench.runtime);
    OK(zuno_session_subscribe(bench.session, -1, true, NULL, &err));
    for (int i = 0; i < calls; i++) {
        snprintf(call_text, sizeof call_text,
                 "[{\"name\":\"write\",\"arguments\":{\"filePath\":\"f%d\",\"content\":\"x\"}}]", i);
        zuno_json_t *doc = dispatch(bench.session, call_text);
        CHECK(json_is(doc, "/results/0/outcome", "ok"));
        zuno_json_free(doc);
    }
    CHECK(atomic_load(&bench.requests) == calls);
    zuno_session_free(bench.session);
    CHECK(zuno_runtime_free(bench.runtime) == ZUNO_OK);
    CHECK(atomic_load(&bench.events) > calls);
}

static void *pull(void *data) {
    bench_t *bench = data;
    for (;;) {
        zuno_buf_t *item = NULL;
        zuno_status_t status = zuno_runtime_next(bench->runtime, -1, &item, NULL);
        if (status == ZUNO_STATUS_CLOSED) {
            return NULL;
        }
        CHECK(status == ZUNO_OK && item != NULL);
        atomic_fetch_add(&bench->ends, strstr(zuno_buf_ptr(item), "\"type\":\"op\"") != NULL);
        zuno_buf_free(item);
    }
}

/* Several threads ask one queue; all of them learn that it ended. */
static void many_pullers(void) {
    bench_t bench = {.done = COUNTER};
    zuno_error_t *err = NULL;
    pthread_t threads[THREADS];
    bench.runtime = open_with(NULL);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, pull, &bench) == 0);
    }
    for (int i = 0; i < 200; i++) {
        OK(zuno_runtime_start(bench.runtime, ZUNO_STR("runtime.waiting"), ZUNO_STR(""), NULL, NULL, &err));
    }
    OK(zuno_runtime_close(bench.runtime, 5000, &err));
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(atomic_load(&bench.ends) == 200);
    CHECK(zuno_runtime_free(bench.runtime) == ZUNO_OK);
}

static void *free_it(void *data) {
    CHECK(zuno_runtime_free(((bench_t *)data)->runtime) == ZUNO_OK);
    return NULL;
}

/* A call that waits for an answer which never comes, in one thread, while another frees the runtime. */
static void silent(void *data, zuno_request_t *request) {
    zuno_request_t **kept = data;
    *kept = request;
}

static void freed_under_a_call(void) {
    bench_t bench = {.done = COUNTER};
    zuno_error_t *err = NULL;
    zuno_request_t *kept = NULL;
    zuno_buf_t *buf = NULL;
    pthread_t thread;
    zuno_host_t host = {.struct_size = sizeof host, .user_data = &kept, .on_request = silent};
    bench.runtime = open_with(&host);
    bench.session = session_here(bench.runtime);
    CHECK(pthread_create(&thread, NULL, free_it, &bench) == 0);
    zuno_str_t calls = ZUNO_STR("[{\"name\":\"write\",\"arguments\":{\"filePath\":\"late\",\"content\":\"x\"}}]");
    /* Either it was too late to begin, or it settles without the write. */
    if (zuno_session_dispatch(bench.session, calls, &buf, &err) == ZUNO_OK) {
        zuno_json_t *doc = parsed(buf);
        CHECK(!json_is(doc, "/results/0/outcome", "ok"));
        zuno_json_free(doc);
    } else {
        CHECK(zuno_error_status(err) == ZUNO_STATUS_CLOSED || zuno_error_status(err) == ZUNO_STATUS_CANCELED);
        zuno_error_free(err);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(access("late", F_OK) != 0);
    zuno_request_free(kept);
    zuno_session_free(bench.session);
}

int main(int count, char **arguments) {
    enter_folder();
    one_handle();
    slow_consumer(count > 1 ? atoi(arguments[1]) : 2000);
    many_pullers();
    for (int i = 0; i < 20; i++) {
        freed_under_a_call();
    }
    leave_folder();
    return 0;
}
