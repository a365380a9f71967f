/* What the tests share: checks that end the program, and a runtime over a folder of its own. */
#ifndef BENCH_H
#define BENCH_H

#include <zuno.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Confinement is the business of other tests; these run wherever a shell runs. */
#define OPTIONS "{\"database\":\":memory:\",\"config\":{\"sandbox\":{\"onUnavailable\":\"run-unconfined\"}}}"

#define CHECK(condition) check(__FILE__, __LINE__, #condition, (condition))
/* The call succeeds. */
#define OK(call) expect(__FILE__, __LINE__, #call, (call), ZUNO_OK, NULL, &err)
/* The call fails with this status and this dotted code. */
#define FAILS(call, status, code) expect(__FILE__, __LINE__, #call, (call), status, code, &err)

static inline void check(const char *file, int line, const char *text, bool holds) {
    if (!holds) {
        fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
        exit(1);
    }
}

static inline void expect(const char *file, int line, const char *call, zuno_status_t got, zuno_status_t wanted,
                          const char *code, zuno_error_t **err) {
    const char *found = zuno_error_code(*err);
    bool same = code == NULL ? *err == NULL : found != NULL && strcmp(found, code) == 0;
    if (got != wanted || !same || zuno_error_status(*err) != got) {
        fprintf(stderr, "%s:%d: %s\n  gave %s %s %s\n", file, line, call, zuno_status_name(got), found ? found : "",
                *err ? zuno_error_message(*err) : "");
        exit(1);
    }
    zuno_error_free(*err);
    *err = NULL;
}

/* A folder of its own, made the current one. */
static inline void enter_folder(void) {
    char folder[] = "/tmp/zuno-c-XXXXXX";
    CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0);
}

static inline void leave_folder(void) {
    char folder[4096], command[4200];
    CHECK(getcwd(folder, sizeof folder) != NULL && chdir("/") == 0);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK(system(command) == 0);
}

static inline zuno_json_t *parsed(zuno_buf_t *buf) {
    zuno_error_t *err = NULL;
    zuno_json_t *json = NULL;
    OK(zuno_json_parse(zuno_buf_str(buf), &json, &err));
    zuno_buf_free(buf);
    return json;
}

/* The result of a method, read. */
static inline zuno_json_t *call(zuno_runtime_t *runtime, const char *method, const char *params) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    OK(zuno_runtime_call(runtime, zuno_str(method), zuno_str(params), &buf, &err));
    return parsed(buf);
}

/* The outcome of calls, read. */
static inline zuno_json_t *dispatch(zuno_session_t *session, const char *calls) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    OK(zuno_session_dispatch(session, zuno_str(calls), &buf, &err));
    return parsed(buf);
}

static inline zuno_session_t *session_here(zuno_runtime_t *runtime) {
    zuno_error_t *err = NULL;
    zuno_session_t *session = NULL;
    OK(zuno_session_open(runtime, ZUNO_STR("{\"directory\":\".\"}"), &session, &err));
    return session;
}

static inline zuno_runtime_t *open_with(const zuno_host_t *host) {
    zuno_error_t *err = NULL;
    zuno_runtime_t *runtime = NULL;
    OK(zuno_runtime_open(ZUNO_ABI_VERSION, ZUNO_STR(OPTIONS), host, &runtime, &err));
    return runtime;
}

static inline bool json_is(const zuno_json_t *json, const char *pointer, const char *text) {
    return zuno_json_is(zuno_json_at(json, zuno_str(pointer)), text);
}

/* A counter that threads wait for. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int value;
} counter_t;

#define COUNTER {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0}

static inline void counter_add(counter_t *counter, int by) {
    pthread_mutex_lock(&counter->lock);
    counter->value += by;
    pthread_cond_broadcast(&counter->changed);
    pthread_mutex_unlock(&counter->lock);
}

static inline void counter_await(counter_t *counter, int value) {
    pthread_mutex_lock(&counter->lock);
    while (counter->value < value) {
        pthread_cond_wait(&counter->changed, &counter->lock);
    }
    pthread_mutex_unlock(&counter->lock);
}

static inline int counter_get(counter_t *counter) {
    pthread_mutex_lock(&counter->lock);
    int value = counter->value;
    pthread_mutex_unlock(&counter->lock);
    return value;
}

#endif
