/* A small host: it looks over a checkout, asks what to do with its notes, and writes them once you have seen the diff.
 *
 *     cc review.c $(pkg-config --cflags --libs zuno) -o review && ./review [directory]
 *
 * Everything a host does is here: a durable session, one batch of calls as a model would send it, approvals that show
 * what would happen, a question, live progress, and outcomes as data. Without a terminal it answers by itself and says
 * so.
 */
#include <zuno.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NOTES "zuno-review.md"

/* The host's side of one review. Callbacks use it on the dispatcher thread, `main` between its calls: while a call runs,
 * `main` waits inside the library, and between calls no callback asks. */
typedef struct {
    bool interactive, colour, live;
    bool progress; /* a line of progress stands on the screen */
    char asked[8][128]; /* "MESSAGE CALL answer" */
    size_t asked_count;
} host_t;

/* ---- the terminal ----------------------------------------------------------------------------------------------- */

static void clear_progress(host_t *host) {
    if (host->progress) {
        fputs("\r\x1b[K", stdout);
        host->progress = false;
    }
}

__attribute__((format(printf, 3, 4))) static void say(host_t *host, const char *colour, const char *format, ...) {
    va_list values;
    clear_progress(host);
    if (host->colour) {
        printf("\x1b[%sm", colour);
    }
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    puts(host->colour ? "\x1b[0m" : "");
    fflush(stdout);
}

/* One of the choices, by its number or its first letters. */
static size_t ask(host_t *host, const char *prompt, const zuno_str_t *choices, size_t count) {
    char line[128];
    if (!host->interactive) {
        say(host, "1", "  %s  -> %.*s (no terminal: answered by itself)", prompt, (int)choices[0].len, choices[0].ptr);
        return 0;
    }
    for (;;) {
        printf("  %s ", prompt);
        for (size_t i = 0; i < count; i++) {
            printf(" %zu %.*s%s", i + 1, (int)choices[i].len, choices[i].ptr, i + 1 < count ? " /" : "  > ");
        }
        fflush(stdout);
        if (fgets(line, sizeof line, stdin) == NULL) {
            return count - 1;
        }
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < count; i++) {
            bool numbered = (size_t)atoi(line) == i + 1;
            if (numbered || strncasecmp(line, choices[i].ptr, strlen(line)) == 0) {
                return i;
            }
        }
    }
}

/* ---- documents -------------------------------------------------------------------------------------------------- */

static void stop(zuno_error_t *error) {
    fprintf(stderr, "review: %s (%s)\n", zuno_error_message(error), zuno_error_code(error));
    exit(2);
}

static zuno_json_t *read_json(zuno_str_t text) {
    zuno_error_t *error = NULL;
    zuno_json_t *json = NULL;
    if (zuno_json_parse(text, &json, &error) != ZUNO_OK) {
        stop(error);
    }
    return json;
}

static zuno_json_t *read_buf(zuno_buf_t *buf) {
    zuno_json_t *json = read_json(zuno_buf_str(buf));
    zuno_buf_free(buf);
    return json;
}

static zuno_str_t text_at(const zuno_json_t *json, const char *pointer) {
    return zuno_json_text(zuno_json_at(json, zuno_str(pointer)));
}

/* A text as a JSON string. */
static void put_quoted(FILE *out, zuno_str_t text) {
    zuno_error_t *error = NULL;
    zuno_buf_t *quoted = NULL;
    if (zuno_json_quote(text, &quoted, &error) != ZUNO_OK) {
        stop(error);
    }
    fputs(zuno_buf_ptr(quoted), out);
    zuno_buf_free(quoted);
}

/* ---- what the library asks and tells ---------------------------------------------------------------------------- */

static void show_preview(host_t *host, zuno_str_t diff) {
    const char *end = diff.ptr == NULL ? NULL : diff.ptr + diff.len;
    int shown = 0;
    for (const char *line = diff.ptr; line < end && shown < 24; shown++) {
        const char *stop_at = memchr(line, '\n', (size_t)(end - line));
        int length = (int)((stop_at == NULL ? end : stop_at) - line);
        say(host, *line == '+' ? "32" : *line == '-' ? "31" : "2", "    %.*s", length > 76 ? 76 : length, line);
        line += length + 1;
    }
}

/* The rules leave a call to a person. An answer may come later and from another thread; here the terminal is asked. */
static void on_request(void *data, zuno_request_t *request) {
    static const char *const answers[] = {"{\"reply\":\"once\"}", "{\"reply\":\"always\"}",
                                          "{\"reply\":\"reject\",\"message\":\"The reviewer said no.\"}"};
    static const zuno_str_t choices[] = {{"once", 4}, {"always", 6}, {"no", 2}};
    host_t *host = data;
    if (strcmp(zuno_request_kind(request), "approval") != 0) {
        zuno_request_fail(request, ZUNO_STR("host.unsupported"), ZUNO_STR("This host only decides approvals."), NULL, NULL);
        return;
    }
    zuno_json_t *asked = read_json(zuno_request_payload(request));
    zuno_str_t tool = text_at(asked, "/tool"), what = text_at(asked, "/metadata/command");
    if (what.ptr == NULL) {
        what = text_at(asked, "/asks/0/patterns/0");
    }
    say(host, "1", "\n  May this run?  %.*s %.*s", (int)tool.len, tool.ptr, (int)what.len, what.ptr);
    show_preview(host, text_at(asked, "/preview"));
    size_t chosen = ask(host, "Allow it?", choices, 3);
    zuno_str_t message = text_at(asked, "/messageId"), call = text_at(asked, "/callId");
    snprintf(host->asked[host->asked_count++ % 8], sizeof host->asked[0], "%.*s %.*s asked: %s", (int)message.len,
             message.ptr, (int)call.len, call.ptr, choices[chosen].ptr);
    zuno_json_free(asked);
    zuno_request_respond(request, zuno_str(answers[chosen]), NULL, NULL);
}

/* Shows what runs. */
static void on_event(void *data, uint64_t subscription, zuno_str_t text) {
    host_t *host = data;
    (void)subscription;
    if (!host->live) {
        return;
    }
    zuno_json_t *event = read_json(text);
    if (zuno_json_is(zuno_json_at(event, ZUNO_STR("/type")), "tool.dispatch.started")) {
        zuno_str_t tool = text_at(event, "/data/tool");
        clear_progress(host);
        printf("  %.*s ...", (int)tool.len, tool.ptr);
        fflush(stdout);
        host->progress = true;
    }
    zuno_json_free(event);
}

/* ---- the review ------------------------------------------------------------------------------------------------- */

/* Dispatches the calls of one message. */
static zuno_json_t *dispatch(zuno_session_t *session, const char *calls) {
    zuno_error_t *error = NULL;
    zuno_buf_t *outcomes = NULL;
    if (zuno_session_dispatch(session, zuno_str(calls), &outcomes, &error) != ZUNO_OK) {
        stop(error);
    }
    return read_buf(outcomes);
}

/* What the person said about a call; NULL when nobody was asked. */
static const char *permission_of(const host_t *host, const zuno_json_t *call) {
    char key[128];
    zuno_str_t message = text_at(call, "/messageId"), id = text_at(call, "/callId");
    int length = snprintf(key, sizeof key, "%.*s %.*s ", (int)message.len, message.ptr, (int)id.len, id.ptr);
    for (size_t i = 0; i < host->asked_count && i < 8; i++) {
        if (strncmp(host->asked[i], key, (size_t)length) == 0) {
            return host->asked[i] + length;
        }
    }
    return NULL;
}

static void show_outcome(host_t *host, const zuno_json_t *call) {
    zuno_str_t tool = text_at(call, "/tool"), effect = text_at(call, "/effect"), outcome = text_at(call, "/outcome");
    zuno_str_t proof = text_at(call, "/blockKind"), message = text_at(call, "/error/message");
    zuno_str_t verified = text_at(call, "/metadata/verification/outcome");
    zuno_str_t authority = text_at(call, "/metadata/verification/exitAuthority");
    const char *permission = permission_of(host, call);
    int64_t started = zuno_json_int(zuno_json_at(call, ZUNO_STR("/timeStarted")), -1);
    int64_t ended = zuno_json_int(zuno_json_at(call, ZUNO_STR("/timeCompleted")), -1);
    char took[32] = "-", detail[128] = "";
    if (permission == NULL) {
        permission = proof.ptr == NULL ? "by rule" : "-";
    }
    if (started >= 0 && ended >= started) {
        snprintf(took, sizeof took, "%lld ms", (long long)(ended - started));
    }
    if (verified.ptr != NULL) {
        snprintf(detail, sizeof detail, ": %.*s, %.*s", (int)verified.len, verified.ptr, (int)authority.len, authority.ptr);
    } else if (proof.ptr != NULL || message.ptr != NULL) {
        zuno_str_t kind = proof.ptr != NULL ? proof : text_at(call, "/error/kind");
        snprintf(detail, sizeof detail, ": %.*s", (int)kind.len, kind.ptr);
    }
    const char *colour = zuno_json_is(zuno_json_at(call, ZUNO_STR("/outcome")), "ok") ? "32" : "33";
    say(host, colour, "  %-15.*s%-15.*s%-15s%8s  %.*s%s", (int)tool.len, tool.ptr, (int)effect.len, effect.ptr, permission,
        took, (int)outcome.len, outcome.ptr, detail);
    if (message.ptr != NULL) {
        say(host, "2", "    %.*s", message.len > 74 ? 74 : (int)message.len, message.ptr);
    }
}

static void show_outcomes(host_t *host, zuno_json_t *const *messages, size_t count) {
    say(host, "1", "\n  %-15s%-15s%-15s%8s  outcome", "tool", "effect", "permission", "time");
    for (size_t i = 0; i < count; i++) {
        const zuno_json_t *results = zuno_json_at(messages[i], ZUNO_STR("/results"));
        for (size_t j = 0; j < zuno_json_count(results); j++) {
            show_outcome(host, zuno_json_item(results, j));
        }
    }
}

static int lines_of(zuno_str_t text) {
    int lines = text.len > 0;
    for (size_t i = 0; i < text.len; i++) {
        lines += text.ptr[i] == '\n';
    }
    return lines;
}

/* The call that writes what the review found. */
static char *write_call(const zuno_json_t *batch) {
    char *notes = NULL, *calls = NULL;
    size_t size = 0;
    zuno_str_t found = text_at(batch, "/results/1/output"), listed = text_at(batch, "/results/4/output");
    FILE *out = open_memstream(&notes, &size);
    fprintf(out, "# Review notes\n\n%d source files, %d entries at the top.\n\n```\n",
            lines_of(text_at(batch, "/results/0/output")), listed.ptr == NULL ? 0 : atoi(listed.ptr));
    int lines = 0;
    for (const char *at = found.ptr, *end = at + found.len; at != NULL && at < end && lines < 12; at++) {
        fputc(*at, out);
        lines += *at == '\n';
    }
    fputs("\n```\n", out);
    fclose(out);
    out = open_memstream(&calls, &size);
    fputs("[{\"name\":\"write\",\"arguments\":{\"filePath\":\"" NOTES "\",\"content\":", out);
    put_quoted(out, zuno_str(notes));
    fputs("}}]", out);
    fclose(out);
    free(notes);
    return calls;
}

/* Asks every open question; says whether the answer was the first choice. */
static bool answer_questions(host_t *host, zuno_session_t *session) {
    zuno_error_t *error = NULL;
    zuno_buf_t *buf = NULL;
    bool wanted = false;
    if (zuno_question_list(session, &buf, &error) != ZUNO_OK) {
        stop(error);
    }
    zuno_json_t *list = read_buf(buf);
    const zuno_json_t *questions = zuno_json_at(list, ZUNO_STR("/questions"));
    for (size_t i = 0; i < zuno_json_count(questions); i++) {
        const zuno_json_t *question = zuno_json_item(questions, i);
        zuno_str_t prompt = text_at(question, "/questions/0/question"), item = text_at(question, "/questions/0/id");
        zuno_str_t choices[] = {text_at(question, "/questions/0/options/0/label"),
                                text_at(question, "/questions/0/options/1/label")};
        char *shown = strndup(prompt.ptr, prompt.len), *answers = NULL;
        size_t size = 0;
        puts("");
        size_t chosen = ask(host, shown, choices, 2);
        wanted = chosen == 0;
        FILE *out = open_memstream(&answers, &size);
        fputc('{', out);
        put_quoted(out, item);
        fputc(':', out);
        put_quoted(out, choices[chosen]);
        fputc('}', out);
        fclose(out);
        int64_t revision = zuno_json_int(zuno_json_at(question, ZUNO_STR("/revision")), 0);
        if (zuno_question_answer(session, text_at(question, "/id"), revision, zuno_str(answers), &buf, &error) != ZUNO_OK) {
            stop(error);
        }
        zuno_buf_free(buf);
        free(shown);
        free(answers);
    }
    zuno_json_free(list);
    return wanted;
}

/* What a model would have sent. */
#define BATCH \
    "[{\"name\":\"glob\",\"arguments\":{\"pattern\":\"**/*.{c,go,js,py,rs,ts}\"}}," \
    "{\"name\":\"grep\",\"arguments\":{\"pattern\":\"TODO|FIXME|XXX\"}}," \
    "{\"name\":\"read\",\"arguments\":{\"filePath\":\"README.md\",\"limit\":40}}," \
    "{\"name\":\"read\",\"arguments\":{\"filepath\":\"README.md\"}}," /* a slip of the pen, as models make them */ \
    "{\"name\":\"shell\",\"arguments\":{\"command\":\"ls | wc -l | tr -d ' '\"}}]"
#define QUESTION \
    "[{\"name\":\"question_async\",\"arguments\":{\"questions\":[{\"header\":\"Notes\"," \
    "\"question\":\"Write the notes to " NOTES "?\",\"options\":[" \
    "{\"label\":\"Write\",\"description\":\"Shows the diff first.\"}," \
    "{\"label\":\"Skip\",\"description\":\"Nothing is written.\"}]}]}}]"

static bool all_well(zuno_json_t *const *messages, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const zuno_json_t *results = zuno_json_at(messages[i], ZUNO_STR("/results"));
        for (size_t j = 0; j < zuno_json_count(results); j++) {
            const zuno_json_t *outcome = zuno_json_at(zuno_json_item(results, j), ZUNO_STR("/outcome"));
            if (!zuno_json_is(outcome, "ok") && !zuno_json_is(outcome, "blocked")) {
                return false;
            }
        }
    }
    return true;
}

static void remove_notes(host_t *host, const zuno_json_t *written) {
    zuno_str_t path = text_at(written, "/results/0/metadata/writtenPaths/0");
    if (path.ptr == NULL) {
        return;
    }
    say(host, "0", "\n  Wrote %.*s", (int)path.len, path.ptr);
    if (!host->interactive) {
        char *name = strndup(path.ptr, path.len);
        unlink(name);
        free(name);
        say(host, "0", "  and removed it again: nobody is here to want it.");
    }
}

static int review(host_t *host, zuno_session_t *session) {
    zuno_error_t *error = NULL;
    zuno_json_t *messages[3] = {NULL, NULL, NULL};
    size_t count = 2;
    if (zuno_session_subscribe(session, -1, false, NULL, &error) != ZUNO_OK) {
        stop(error);
    }
    messages[0] = dispatch(session, BATCH);
    messages[1] = dispatch(session, QUESTION);
    if (answer_questions(host, session)) {
        char *calls = write_call(messages[0]);
        messages[count++] = dispatch(session, calls);
        free(calls);
    }
    show_outcomes(host, messages, count);
    remove_notes(host, messages[2]);
    int status = all_well(messages, count) ? 0 : 1;
    for (size_t i = 0; i < count; i++) {
        zuno_json_free(messages[i]);
    }
    return status;
}

/* Removes the folder of the database. */
static void remove_folder(int parent, const char *name) {
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = folder < 0 ? NULL : fdopendir(folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        bool self = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!self && unlinkat(folder, entry->d_name, 0) != 0) {
            remove_folder(folder, entry->d_name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    unlinkat(parent, name, AT_REMOVEDIR);
}

int main(int count, char **arguments) {
    char folder[] = "/tmp/zuno-review-XXXXXX", *text = NULL;
    size_t size = 0;
    zuno_error_t *error = NULL;
    zuno_runtime_t *runtime = NULL;
    zuno_session_t *session = NULL;
    host_t host = {.interactive = isatty(STDIN_FILENO), .live = isatty(STDOUT_FILENO)};
    host.colour = host.live && getenv("NO_COLOR") == NULL;
    zuno_host_t functions = {
        .struct_size = sizeof functions, .user_data = &host, .on_request = on_request, .on_event = on_event};

    if (mkdtemp(folder) == NULL) {
        perror("review");
        return 2;
    }
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "{\"database\":\"%s/state.db\",\"config\":{\"sandbox\":{\"onUnavailable\":\"run-unconfined\"}}}", folder);
    fclose(out);
    if (zuno_runtime_open(ZUNO_ABI_VERSION, zuno_str(text), &functions, &runtime, &error) != ZUNO_OK) {
        stop(error);
    }
    free(text);

    out = open_memstream(&text, &size);
    fputs("{\"title\":\"review\",\"directory\":", out);
    put_quoted(out, zuno_str(count > 1 ? arguments[1] : "."));
    fputc('}', out);
    fclose(out);
    if (zuno_session_open(runtime, zuno_str(text), &session, &error) != ZUNO_OK) {
        stop(error);
    }
    free(text);

    say(&host, "1", "  Review of %s", count > 1 ? arguments[1] : ".");
    int status = review(&host, session);
    zuno_session_free(session);
    zuno_runtime_free(runtime);
    remove_folder(AT_FDCWD, folder);
    return status;
}
