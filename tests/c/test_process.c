/* What the library leaves behind in the process that uses it: nothing. */
#include "bench.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* The lines of /proc/self/status about signals. */
static void signals(char *into, size_t size) {
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file != NULL);
    size_t used = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "Sig", 3) == 0 && strncmp(line, "SigQ", 4) != 0) {
            used += (size_t)snprintf(into + used, size - used, "%s", line);
        }
    }
    fclose(file);
}

static int entries(const char *folder) {
    int count = 0;
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

static void answer(void *data, zuno_request_t *request) {
    (void)data;
    CHECK(zuno_request_respond(request, ZUNO_STR("{\"reply\":\"once\"}"), NULL, NULL) == ZUNO_OK);
}

static void use(void) {
    zuno_error_t *err = NULL;
    int fd;
    zuno_host_t host = {.struct_size = sizeof host, .on_request = answer};
    zuno_runtime_t *runtime = open_with(&host);
    zuno_session_t *session = session_here(runtime);
    OK(zuno_session_subscribe(session, 0, true, NULL, &err));
    zuno_json_t *doc = dispatch(session, "[{\"name\":\"shell\",\"arguments\":{\"command\":\"echo $PPID | wc -l\"}},"
                                         "{\"name\":\"glob\",\"arguments\":{\"pattern\":\"*\"}}]");
    CHECK(json_is(doc, "/results/0/outcome", "ok"));
    zuno_json_free(doc);
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
    runtime = open_with(NULL);
    OK(zuno_runtime_fd(runtime, &fd, &err));
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

static void *nothing(void *data) { return data; }

/* Signals, the subreaper flag, the folder, the environment, threads and descriptors are what they were. */
static void unchanged(void) {
    char before[1024] = "", after[1024] = "", folder_before[4096], folder_after[4096];
    int reaper_before = -1, reaper_after = -1;
    extern char **environ;
    /* The C library itself takes a signal with the first thread of a process. */
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
    signal(SIGUSR1, SIG_IGN);
    signals(before, sizeof before);
    CHECK(prctl(PR_GET_CHILD_SUBREAPER, &reaper_before) == 0);
    CHECK(getcwd(folder_before, sizeof folder_before) != NULL);
    char **environment = environ;
    int threads = entries("/proc/self/task");
    use();
    /* The image of the guard is kept for the life of the process, once. */
    int descriptors = entries("/proc/self/fd");
    use();
    signals(after, sizeof after);
    CHECK(prctl(PR_GET_CHILD_SUBREAPER, &reaper_after) == 0);
    CHECK(getcwd(folder_after, sizeof folder_after) != NULL);
    if (strcmp(before, after) != 0) {
        fprintf(stderr, "before:\n%safter:\n%s", before, after);
    }
    CHECK(strcmp(before, after) == 0 && reaper_before == reaper_after && strcmp(folder_before, folder_after) == 0);
    CHECK(environ == environment);
    CHECK(entries("/proc/self/fd") == descriptors);
    CHECK(entries("/proc/self/task") == threads);
    /* No child is left either. */
    CHECK(waitpid(-1, NULL, WNOHANG) == -1);
}

/* A program started while a runtime is open inherits nothing of it. */
static void closed_on_exec(void) {
    zuno_error_t *err = NULL;
    zuno_runtime_t *runtime = NULL;
    bool before[256];
    int own;
    for (int fd = 0; fd < 256; fd++) {
        before[fd] = fcntl(fd, F_GETFD) != -1;
    }
    OK(zuno_runtime_open(ZUNO_ABI_VERSION, ZUNO_STR("{\"database\":\"exec.db\"}"), NULL, &runtime, &err));
    OK(zuno_runtime_fd(runtime, &own, &err));
    zuno_session_t *session = session_here(runtime);
    zuno_json_free(dispatch(session, "[{\"name\":\"read\",\"arguments\":{\"filePath\":\".\"}}]"));
    int opened = 0;
    for (int fd = 0; fd < 256; fd++) {
        int flags = before[fd] ? -1 : fcntl(fd, F_GETFD);
        opened += flags != -1;
        CHECK(flags == -1 || (flags & FD_CLOEXEC) != 0);
    }
    CHECK(opened > 2);
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

/* A forked child gets a typed status from everything and may end at any time. */
static void forked(bool push) {
    zuno_error_t *err = NULL;
    zuno_buf_t *buf = NULL;
    int fd, status = -1;
    zuno_host_t host = {.struct_size = sizeof host, .on_request = answer};
    zuno_runtime_t *runtime = open_with(push ? &host : NULL);
    zuno_session_t *session = session_here(runtime);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(20);
        FAILS(zuno_runtime_call(runtime, ZUNO_STR("tool.list"), ZUNO_STR(""), &buf, &err), ZUNO_STATUS_CLOSED,
              "closed.forked");
        FAILS(zuno_runtime_start(runtime, ZUNO_STR("tool.list"), ZUNO_STR(""), NULL, NULL, &err), ZUNO_STATUS_CLOSED,
              "closed.forked");
        FAILS(zuno_session_dispatch(session, ZUNO_STR("[]"), &buf, &err), ZUNO_STATUS_CLOSED, "closed.forked");
        if (!push) {
            FAILS(zuno_runtime_next(runtime, -1, &buf, &err), ZUNO_STATUS_CLOSED, "closed.forked");
            FAILS(zuno_runtime_fd(runtime, &fd, &err), ZUNO_STATUS_CLOSED, "closed.forked");
        }
        OK(zuno_runtime_close(runtime, 1000, &err));
        zuno_session_free(session);
        CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    zuno_json_free(call(runtime, "tool.list", ""));
    zuno_session_free(session);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
}

/* Another copy of the library in this process must not open the same database. */
static void second_copy(const char *library) {
    char command[4200];
    zuno_error_t *err = NULL;
    zuno_runtime_t *runtime = NULL, *second = NULL;
    snprintf(command, sizeof command, "cp '%s' copy.so", library);
    CHECK(system(command) == 0);
    void *copy = dlopen("./copy.so", RTLD_NOW | RTLD_LOCAL);
    CHECK(copy != NULL);
    __typeof__(&zuno_runtime_open) open_second;
    __typeof__(&zuno_error_code) code_second;
    __typeof__(&zuno_error_free) free_second;
    *(void **)&open_second = dlsym(copy, "zuno_runtime_open");
    *(void **)&code_second = dlsym(copy, "zuno_error_code");
    *(void **)&free_second = dlsym(copy, "zuno_error_free");
    CHECK(open_second != NULL && open_second != &zuno_runtime_open);
    zuno_str_t options = ZUNO_STR("{\"database\":\"state.db\"}");
    OK(zuno_runtime_open(ZUNO_ABI_VERSION, options, NULL, &runtime, &err));
    CHECK(open_second(ZUNO_ABI_VERSION, options, NULL, &second, &err) == ZUNO_STATUS_STORE);
    CHECK(second == NULL && strcmp(code_second(err), "store.second_copy") == 0);
    free_second(err);
    CHECK(zuno_runtime_free(runtime) == ZUNO_OK);
    /* Loaded code stays: threads of the library run in it. */
    dlclose(copy);
}

int main(int count, char **arguments) {
    enter_folder();
    closed_on_exec();
    unchanged();
    forked(false);
    forked(true);
    if (count > 1) {
        second_copy(arguments[1]);
    }
    leave_folder();
    return 0;
}
