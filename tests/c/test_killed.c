/* The host is killed by SIGKILL. No process of ours lives on, the database opens, nothing has run twice. case: 94 */
#include "bench.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define OPEN "{\"database\":\"state.db\",\"config\":{\"permission\":{\"rules\":{\"edit\":\"allow\",\"shell\":\"allow\"}}," \
             "\"sandbox\":{\"mode\":\"danger-full-access\"}}}"

static zuno_runtime_t *open_stored(void) {
    zuno_error_t *err = NULL;
    zuno_runtime_t *runtime = NULL;
    OK(zuno_runtime_open(ZUNO_ABI_VERSION, ZUNO_STR(OPEN), NULL, &runtime, &err));
    return runtime;
}

static zuno_session_t *reopen(zuno_runtime_t *runtime, const char *id) {
    char params[128];
    zuno_error_t *err = NULL;
    zuno_session_t *session = NULL;
    snprintf(params, sizeof params, "{\"sessionId\":\"%s\"}", id);
    OK(zuno_session_open(runtime, zuno_str(params), &session, &err));
    return session;
}

/* How many processes carry a text in their command line. */
static int processes_with(const char *text) {
    int found = 0;
    DIR *dir = opendir("/proc");
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[300], line[4096];
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid() ? fopen(path, "r") : NULL;
        if (file != NULL) {
            size_t length = fread(line, 1, sizeof line - 1, file);
            line[length] = '\0';
            for (size_t i = 0; i + 1 < length; i++) {
                line[i] = line[i] == '\0' ? ' ' : line[i];
            }
            found += strstr(line, text) != NULL;
            fclose(file);
        }
    }
    closedir(dir);
    return found;
}

static void await_none(const char *text) {
    for (int tenths = 0; tenths < 50 && processes_with(text) > 0; tenths++) {
        usleep(100000);
    }
    CHECK(processes_with(text) == 0);
}

static void await_file(const char *name) {
    for (int hundredths = 0; hundredths < 3000 && access(name, F_OK) != 0; hundredths++) {
        usleep(10000);
    }
    CHECK(access(name, F_OK) == 0);
}

static void kill_host(pid_t host) {
    int status = 0;
    CHECK(kill(host, SIGKILL) == 0 && waitpid(host, &status, 0) == host && WIFSIGNALED(status));
}

/* A host of its own, which ends with this process too. */
static pid_t fork_host(void) {
    pid_t host = fork();
    CHECK(host >= 0);
    if (host == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    return host;
}

/* A command longer than everybody's patience, with a child that left its process group and session. */
static void sleepers(void) {
    char mark[32], calls[400];
    snprintf(mark, sizeof mark, "98765.%d", getpid());
    pid_t host = fork_host();
    if (host == 0) {
        zuno_runtime_t *runtime = open_stored();
        zuno_session_t *session = session_here(runtime);
        snprintf(calls, sizeof calls,
                 "[{\"name\":\"shell\",\"arguments\":{\"command\":"
                 "\"(setsid sleep %s &) ; touch up; sleep %s | cat\"}}]",
                 mark, mark);
        zuno_json_free(dispatch(session, calls));
        _exit(1);
    }
    await_file("up");
    CHECK(processes_with(mark) > 1);
    kill_host(host);
    await_none(mark);
}

static void storm(const char *id, int number) {
    zuno_runtime_t *runtime = open_stored();
    zuno_session_t *session = reopen(runtime, id);
    for (int call = 0;; call++) {
        char calls[600];
        snprintf(calls, sizeof calls,
                 "[{\"name\":\"shell\",\"callId\":\"s%d-%d\",\"arguments\":{\"command\":"
                 "\"echo s%d-%d >> ran.log; sleep 0.01\"}},"
                 "{\"name\":\"write\",\"callId\":\"w%d-%d\",\"arguments\":{\"filePath\":\"w%d-%d\",\"content\":\"x\"}}]",
                 number, call, number, call, number, call, number, call);
        zuno_json_free(dispatch(session, calls));
        if (call == 0) {
            fclose(fopen("first", "w"));
        }
    }
}

/* How often a line is in a file. */
static int lines_with(const char *name, const char *text) {
    char line[128];
    int found = 0;
    FILE *file = fopen(name, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        found += strcmp(line, text) == 0;
    }
    fclose(file);
    return found;
}

static void check_part(const zuno_json_t *call_record, int *shells) {
    zuno_str_t id = zuno_json_text(zuno_json_at(call_record, ZUNO_STR("/callId")));
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)id.len, id.ptr);
    CHECK(json_is(call_record, "/state", "settled"));
    bool ok = json_is(call_record, "/outcome", "ok"), doubtful = json_is(call_record, "/outcome", "uncertain");
    if (name[0] == 's') {
        int ran = lines_with("ran.log", name);
        CHECK(doubtful ? ran <= 1 : ran == (ok ? 1 : 0));
        *shells += ran;
    } else {
        CHECK(doubtful || (access(name, F_OK) == 0) == ok);
    }
}

/* Every call has one end, and what left a trace has a record. */
static void check_records(const char *id) {
    int shells = 0, traces = 0;
    char params[160], line[128];
    zuno_runtime_t *runtime = open_stored();
    zuno_session_t *session = reopen(runtime, id);
    for (int64_t after = 0;;) {
        snprintf(params, sizeof params, "{\"sessionId\":\"%s\",\"after\":%lld,\"limit\":100}", id, (long long)after);
        zuno_json_t *page = call(runtime, "session.messages", params);
        const zuno_json_t *messages = zuno_json_at(page, ZUNO_STR("/messages"));
        for (size_t i = 0; i < zuno_json_count(messages); i++) {
            const zuno_json_t *parts = zuno_json_at(zuno_json_item(messages, i), ZUNO_STR("/parts"));
            for (size_t j = 0; j < zuno_json_count(parts); j++) {
                check_part(zuno_json_item(parts, j), &shells);
            }
            after = zuno_json_int(zuno_json_at(zuno_json_item(messages, i), ZUNO_STR("/ordinal")), after);
        }
        bool last = zuno_json_count(messages) == 0;
        zuno_json_free(page);
        if (last) {
            break;
        }
    }
    FILE *file = fopen("ran.log", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        traces++;
    }
    fclose(file);
    CHECK(traces > 0 && traces == shells);
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

static void storms(int kills) {
    char id[64];
    zuno_runtime_t *runtime = open_stored();
    zuno_session_t *session = session_here(runtime);
    snprintf(id, sizeof id, "%s", zuno_session_id(session));
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
    srand(20260101);
    for (int number = 0; number < kills; number++) {
        unlink("first");
        pid_t host = fork_host();
        if (host == 0) {
            storm(id, number);
        }
        await_file("first");
        usleep((unsigned)rand() % 150000);
        kill_host(host);
    }
    await_none("ran.log");
    check_records(id);
}

int main(int count, char **arguments) {
    enter_folder();
    sleepers();
    storms(count > 1 ? atoi(arguments[1]) : 20);
    leave_folder();
    return 0;
}
