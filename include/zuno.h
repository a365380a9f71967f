/*
 * zuno.h - the C face of libzuno, the tool runtime that applications embed.
 *
 * Generated from the folder ffi/ of the project; `make bless` writes it anew. The guide is docs/c.md.
 *
 * Ownership is said in three words:
 *   borrows        the library uses it for the call; where it says "borrows from x", the result lives as long as x;
 *   returns owned  a `T **out`, set to NULL first and written only on success, which the caller frees;
 *   consumes       the handle is gone after the call.
 *
 * Functions that may fail return a `zuno_status_t` and take `zuno_error_t **err` last. It may be NULL; it is set to NULL
 * first, and to an error the caller frees when the status is not ZUNO_OK.
 *
 * Handles may be used by any thread at once; the `_free` of a handle comes last. `_free` of NULL is a no-op. Using a
 * handle after it was freed or consumed is undefined.
 */

#ifndef ZUNO_H
#define ZUNO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef ZUNO_API
#if defined(__GNUC__) || defined(__clang__)
#define ZUNO_API __attribute__((visibility("default")))
#else
#define ZUNO_API
#endif
#endif

/* A string literal as a `zuno_str_t`. */
#ifdef __cplusplus
#define ZUNO_STR(literal) (zuno_str_t{("" literal), sizeof(literal) - 1})
#else
#define ZUNO_STR(literal) ((zuno_str_t){("" literal), sizeof(literal) - 1})
#endif


/**
 * The version of this interface. Programs give it to `zuno_runtime_open`, which refuses another one.
 */
#define ZUNO_ABI_VERSION 1

/**
 * The value is absent: what `zuno_json_type` answers for NULL.
 */
#define ZUNO_JSON_ABSENT 0

/**
 * `null`
 */
#define ZUNO_JSON_NULL 1

/**
 * `true` or `false`
 */
#define ZUNO_JSON_BOOL 2

/**
 * A number.
 */
#define ZUNO_JSON_NUMBER 3

/**
 * A string.
 */
#define ZUNO_JSON_STRING 4

/**
 * An array.
 */
#define ZUNO_JSON_ARRAY 5

/**
 * An object.
 */
#define ZUNO_JSON_OBJECT 6

/**
 * Text that belongs to the caller until `zuno_buf_free`: UTF-8, with a NUL after its last byte.
 */
typedef struct zuno_buf_t zuno_buf_t;

/**
 * An error: a stable dotted code, a sentence that says what to do next, details as JSON.
 */
typedef struct zuno_error_t zuno_error_t;

/**
 * A JSON document, or a part of one. Parts belong to their document: only the whole is freed. It does not change, so
 * any number of threads may read it.
 */
typedef struct zuno_json_t zuno_json_t;

/**
 * Work for the host. Exactly one of `zuno_request_respond`, `zuno_request_fail` and `zuno_request_free` ends it; it may
 * outlive its runtime. Two threads must not end the same request; everything else is safe.
 */
typedef struct zuno_request_t zuno_request_t;

/**
 * A runtime: a database, its sessions, and one ordered queue of items for the program. Every function may be called
 * from any thread at once; `zuno_runtime_free` comes last.
 */
typedef struct zuno_runtime_t zuno_runtime_t;

/**
 * A durable session: a folder, and everything that was called in it. Every function may be called from any thread at
 * once; `zuno_session_free` comes last. A session may outlive its runtime: its functions answer `closed.object` then.
 */
typedef struct zuno_session_t zuno_session_t;

/**
 * How a function ended: `ZUNO_OK` or one of the `ZUNO_STATUS_` values. Values are never reused; new ones may be added.
 */
typedef int32_t zuno_status_t;

/**
 * UTF-8 text as a pointer and a length in bytes. `{NULL, 0}` is the empty text. Text that the library hands out in this
 * form to a callback has a NUL after its last byte, which `len` does not count.
 */
typedef struct {
    /**
     * The bytes; may be NULL when `len` is 0.
     */
    const char *ptr;
    /**
     * How many.
     */
    size_t len;
} zuno_str_t;

/**
 * The functions of a host. It is copied by `zuno_runtime_open`. Set `struct_size` to `sizeof(zuno_host_t)` and what is
 * not needed to NULL; the structure only grows at its end, so a program compiled against an older header goes on
 * working.
 *
 * All functions are called in order from one dispatcher thread per runtime: never from inside a `zuno_` call, never
 * from a thread that works for the library. They must not throw or `longjmp`. They may call everything but
 * `zuno_runtime_free` of their own runtime, which answers `ZUNO_STATUS_WOULD_DEADLOCK`. A callback that waits in
 * `zuno_session_dispatch`, or in `zuno_runtime_call` of `session.dispatch` or `question.wait`, would keep back the very
 * requests it waits for: while it waits and until it returns, a second dispatcher thread delivers what follows.
 */
typedef struct {
    /**
     * `sizeof(zuno_host_t)`.
     */
    size_t struct_size;
    /**
     * Given to every function.
     */
    void *user_data;
    /**
     * Work for the host, such as an approval. Consumes `request`: answer it now or later, from any thread, by
     * `zuno_request_respond` or `zuno_request_fail`. NULL: every request is answered `host.unsupported`.
     */
    void (*on_request)(void *user_data, zuno_request_t *request);
    /**
     * An event of a subscription, as JSON. Borrows `event`.
     */
    void (*on_event)(void *user_data, uint64_t subscription, zuno_str_t event);
    /**
     * The answer to this request is no longer wanted. The request still has to be freed or answered. Borrows
     * `request_id`.
     */
    void (*on_cancel)(void *user_data, zuno_str_t request_id);
    /**
     * The last call of all: frees `user_data`, after `on_closed`. Not called when opening failed.
     */
    void (*user_data_free)(void *user_data);
    /**
     * The end of an operation, exactly one per `zuno_runtime_start`; `op_data` is what was given there. It may come
     * before `zuno_runtime_start` has returned. `result` is JSON and `error` NULL when `status` is `ZUNO_OK`; otherwise
     * `result` is `{NULL, 0}`. Borrows `result` and `error`.
     */
    void (*on_op)(void *user_data,
                  void *op_data,
                  uint64_t op,
                  zuno_status_t status,
                  zuno_str_t result,
                  const zuno_error_t *error);
    /**
     * The runtime is closed: no request, event or operation follows.
     */
    void (*on_closed)(void *user_data);
} zuno_host_t;

/**
 * It worked.
 */
#define ZUNO_OK 0

/**
 * A defect of the library ended the call; everything else goes on (`internal.*`).
 */
#define ZUNO_STATUS_PANIC 1

/**
 * The call would wait for the thread that makes it (`failed.would_deadlock`).
 */
#define ZUNO_STATUS_WOULD_DEADLOCK 2

/**
 * An argument is not acceptable (`arguments.*`).
 */
#define ZUNO_STATUS_ARGUMENTS 3

/**
 * Another runtime owns the object (`busy.*`).
 */
#define ZUNO_STATUS_BUSY 4

/**
 * The runtime, session, request or question has ended (`closed.*`).
 */
#define ZUNO_STATUS_CLOSED 5

/**
 * Things are not as the caller believed (`conflict.*`).
 */
#define ZUNO_STATUS_CONFLICT 6

/**
 * The operation failed for a reason outside the library (`failed.*`).
 */
#define ZUNO_STATUS_FAILED 7

/**
 * The operation was cancelled (`failed.canceled`).
 */
#define ZUNO_STATUS_CANCELED 8

/**
 * The host did not answer, or answered with an error (`host.*`).
 */
#define ZUNO_STATUS_HOST 9

/**
 * No object has that id (`not_found.*`).
 */
#define ZUNO_STATUS_NOT_FOUND 10

/**
 * A rule, a person or a missing approval port refused (`permission.*`).
 */
#define ZUNO_STATUS_PERMISSION 11

/**
 * No usable confinement on this machine (`sandbox.*`).
 */
#define ZUNO_STATUS_SANDBOX 12

/**
 * The database cannot be used (`store.*`).
 */
#define ZUNO_STATUS_STORE 13

/**
 * Something is not installed, configured or switched on (`unavailable.*`).
 */
#define ZUNO_STATUS_UNAVAILABLE 14

/**
 * The program was compiled for another version of the interface (`arguments.abi`).
 */
#define ZUNO_STATUS_ABI 15

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the interface that the loaded library has.
 *
 * Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API uint32_t zuno_abi_version(void);

/**
 * The version of the loaded library, such as "0.1.0".
 *
 * Ownership: the text is static. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API const char *zuno_version(void);

/**
 * The name of a status without its prefix, such as "CLOSED"; "UNKNOWN" for a value this library does not have.
 *
 * Ownership: the text is static. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API const char *zuno_status_name(zuno_status_t status);

/**
 * The bytes of a text, NUL-terminated.
 *
 * Ownership: borrows from `buf`: valid until `zuno_buf_free`. NULL for NULL. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API const char *zuno_buf_ptr(const zuno_buf_t *buf);

/**
 * The length of a text in bytes, without the NUL. 0 for NULL.
 *
 * Ownership: borrows `buf`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API size_t zuno_buf_len(const zuno_buf_t *buf);

/**
 * Frees a text. It needs no other handle, so it may be freed after its runtime. NULL is a no-op.
 *
 * Ownership: consumes `buf`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API void zuno_buf_free(zuno_buf_t *buf);

/**
 * The status the function returned. `ZUNO_OK` for NULL.
 *
 * Ownership: borrows `error`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API zuno_status_t zuno_error_status(const zuno_error_t *error);

/**
 * The stable dotted code, such as "store.locked". Programs branch on it.
 *
 * Ownership: borrows from `error`: valid until `zuno_error_free`. NULL for NULL. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API const char *zuno_error_code(const zuno_error_t *error);

/**
 * A sentence for people, with the next step.
 *
 * Ownership: borrows from `error`: valid until `zuno_error_free`. NULL for NULL. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API const char *zuno_error_message(const zuno_error_t *error);

/**
 * Facts for programs: a JSON object.
 *
 * Ownership: borrows from `error`: valid until `zuno_error_free`. NULL for NULL. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API const char *zuno_error_details_json(const zuno_error_t *error);

/**
 * Frees an error. It needs no other handle. NULL is a no-op.
 *
 * Ownership: consumes `error`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API void zuno_error_free(zuno_error_t *error);

/**
 * Opens a runtime.
 *
 * `options` is JSON: `{"database"?, "ports"?, "config"?, "readGlobal"?, "readEnvironment"?, "readProject"?}`. `ports`
 * names the kinds of requests the host answers; left out, they are "approval", "hostTool" and "hook" for a host with
 * `on_request`, else none. With a `host` its functions are called from a dispatcher thread (push). With NULL the program
 * asks by `zuno_runtime_next` (pull).
 *
 * Ownership: borrows `options` and `host`, which is copied; returns owned `*out`, freed by `zuno_runtime_free`.
 * Threads: any. Errors: `arguments.abi` for another `abi_version` or a wrong `struct_size`, `arguments.*`, `store.*`;
 * nothing is open then and `user_data_free` is not called. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_runtime_open(uint32_t abi_version,
                                zuno_str_t options,
                                const zuno_host_t *host,
                                zuno_runtime_t **out,
                                zuno_error_t **err);

/**
 * Runs a method and waits for its result. The methods are listed in docs/protocol.md.
 *
 * Ownership: borrows `runtime`, `method` and `params` (JSON; empty text means `{}`); returns owned `*out`, the result as
 * JSON. Threads: any; blocks the calling one. Errors: `arguments.*`, `closed.*`, and what the method answers. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_runtime_call(const zuno_runtime_t *runtime,
                                zuno_str_t method,
                                zuno_str_t params,
                                zuno_buf_t **out,
                                zuno_error_t **err);

/**
 * Starts a method and returns at once. Exactly one end follows, also when the runtime is closed: `on_op` with `op_data`
 * (push), or an item `{"type":"op","id","result","error"}` (pull; `op_data` is not used there).
 *
 * Ownership: borrows `runtime`, `method` and `params`; `op` may be NULL. Threads: any; does not block.
 * Errors: `arguments.null`, `arguments.utf8`, `closed.*`: no end follows then. Everything else is told by the end.
 * Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_runtime_start(const zuno_runtime_t *runtime,
                                 zuno_str_t method,
                                 zuno_str_t params,
                                 void *op_data,
                                 uint64_t *op,
                                 zuno_error_t **err);

/**
 * Cancels an operation. Its end still follows. `*running` says whether there was something to cancel.
 *
 * Ownership: borrows `runtime`; `running` may be NULL. Threads: any; does not block. Errors: `arguments.null`.
 * Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_runtime_cancel(const zuno_runtime_t *runtime,
                                  uint64_t op,
                                  bool *running,
                                  zuno_error_t **err);

/**
 * Answers a request by its id (pull). `*wanted` says whether the answer was still wanted.
 *
 * Ownership: borrows `runtime`, `request_id` and `answer` (JSON); `wanted` may be NULL. Threads: any; does not block.
 * Errors: `arguments.null`, `arguments.utf8`, `arguments.json` (the request stays open), `closed.forked`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_runtime_respond(const zuno_runtime_t *runtime,
                                   zuno_str_t request_id,
                                   zuno_str_t answer,
                                   bool *wanted,
                                   zuno_error_t **err);

/**
 * Answers a request with an error by its id (pull); codes as for `zuno_request_fail`.
 *
 * Ownership: borrows `runtime`, `request_id`, `code` and `message`; `wanted` may be NULL. Threads: any; does not block.
 * Errors: `arguments.null`, `arguments.utf8`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_runtime_fail(const zuno_runtime_t *runtime,
                                zuno_str_t request_id,
                                zuno_str_t code,
                                zuno_str_t message,
                                bool *wanted,
                                zuno_error_t **err);

/**
 * The next item of the queue as JSON (pull): an event, a request, a withdrawn request, the end of an operation, or
 * `{"type":"closed"}`, the last one. `*out` is NULL when none came within `timeout_ms`; a negative value waits without
 * limit, 0 does not wait.
 *
 * Ownership: borrows `runtime`; returns owned `*out`. Threads: any, also several at once: each item goes to one of them.
 * Errors: `closed.object` after the last item, `unavailable.feature` in push mode, `arguments.null`, `closed.forked`.
 * Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_runtime_next(const zuno_runtime_t *runtime,
                                int64_t timeout_ms,
                                zuno_buf_t **out,
                                zuno_error_t **err);

/**
 * A descriptor for `poll`, `epoll` or an event loop (pull). While it is readable, call `zuno_runtime_next` with timeout 0
 * until it gives NULL or an error. Do not read, write or close it.
 *
 * Ownership: borrows from `runtime`: `*fd` is valid until `zuno_runtime_free`. Threads: any; does not block.
 * Errors: `unavailable.feature` in push mode, `arguments.null`, `closed.forked`, `failed.operation`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_runtime_fd(const zuno_runtime_t *runtime,
                              int *fd,
                              zuno_error_t **err);

/**
 * Closes a runtime; its handle stays valid. In this order: 1 nothing new starts; 2 running calls are interrupted;
 * 3 they may settle until the deadline; 4 open requests end with `host.gone`; 5 every operation gets its end; 6 sessions
 * are given back; 7 `closed` is the last item. Requests and answers that come later are dropped. A second call is a
 * no-op.
 *
 * Ownership: borrows `runtime`. Threads: any; blocks until step 7, at most about `deadline_ms` (negative counts as 0).
 * Errors: `arguments.null`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_runtime_close(const zuno_runtime_t *runtime,
                                 int64_t deadline_ms,
                                 zuno_error_t **err);

/**
 * Closes a runtime, with 5 seconds for running work, and frees it: 8 the callback that runs returns; 9 what is left of
 * the queue is delivered, `on_closed` last; 10 `user_data_free` is called; 11 the threads of the runtime have ended. Then
 * it returns. NULL is a no-op. In a forked child it does nothing.
 *
 * It waits for a running callback, so do not hold a lock that a callback takes. No other function may use the handle
 * at the same time or later; sessions and requests may: they answer `closed.object`.
 *
 * Ownership: consumes `runtime`, unless it answers `ZUNO_STATUS_WOULD_DEADLOCK`: then a callback of this very runtime
 * called it, nothing happened and the handle is still valid. Threads: any other; blocks. Errors: that status, or
 * `ZUNO_STATUS_PANIC`; a destructor has no `err`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_runtime_free(zuno_runtime_t *runtime);

/**
 * Ends a subscription. Events that are on their way may still come. `*removed` says whether it was there.
 *
 * Ownership: borrows `runtime`; `removed` may be NULL. Threads: any; blocks briefly. Errors: `arguments.null`,
 * `closed.*`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_runtime_unsubscribe(const zuno_runtime_t *runtime,
                                       uint64_t subscription,
                                       bool *removed,
                                       zuno_error_t **err);

/**
 * The id of a request, the one that `on_cancel` names.
 *
 * Ownership: borrows from `request`: valid until it is consumed. NULL for NULL. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API const char *zuno_request_id(const zuno_request_t *request);

/**
 * What is asked for: "approval", "environment", "hostTool", "hook", "formatter". Fail a kind you do not know with
 * `host.unsupported`: kinds may be added.
 *
 * Ownership: borrows from `request`: valid until it is consumed. NULL for NULL. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API const char *zuno_request_kind(const zuno_request_t *request);

/**
 * The details of a request, as JSON.
 *
 * Ownership: borrows from `request`: valid until it is consumed. `{NULL, 0}` for NULL. Threads: any. Errors: none.
 * Since: 0.1
 */
ZUNO_API zuno_str_t zuno_request_payload(const zuno_request_t *request);

/**
 * Answers a request. An answer that comes too late, after a cancellation or after the runtime was freed, is accepted and
 * dropped: `*wanted` is false then. An answer that is not JSON fails the request with `host.failed`.
 *
 * Ownership: consumes `request`, also when it fails; borrows `answer`; `wanted` may be NULL. Threads: any.
 * Errors: `arguments.null`, `arguments.utf8`, `arguments.json`, `closed.forked`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_request_respond(zuno_request_t *request,
                                   zuno_str_t answer,
                                   bool *wanted,
                                   zuno_error_t **err);

/**
 * Answers a request with an error: the call it belongs to is settled with it. Codes: "host.failed", "host.unsupported",
 * "host.dropped", "host.gone"; another one counts as "host.failed".
 *
 * Ownership: consumes `request`, also when it fails; borrows `code` and `message`; `wanted` may be NULL. Threads: any.
 * Errors: `arguments.null`, `arguments.utf8`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_request_fail(zuno_request_t *request,
                                zuno_str_t code,
                                zuno_str_t message,
                                bool *wanted,
                                zuno_error_t **err);

/**
 * Gives a request up: it is answered `host.dropped`. NULL is a no-op.
 *
 * Ownership: consumes `request`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API void zuno_request_free(zuno_request_t *request);

/**
 * Creates a session.
 *
 * `params` is JSON: `{"directory", "agent"?, "mode"?, "title"?, "profile"?, "config"?, ...}`, the parameters of
 * `session.create`.
 *
 * Ownership: borrows `runtime` and `params`; returns owned `*out`, freed by `zuno_session_free`. Threads: any; blocks
 * briefly. Errors: `arguments.*`, `store.*`, `closed.*`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_session_create(const zuno_runtime_t *runtime,
                                  zuno_str_t params,
                                  zuno_session_t **out,
                                  zuno_error_t **err);

/**
 * Opens a session: the stored one for `{"sessionId"}`, a new one for `{"directory", ...}` as `zuno_session_create` takes
 * it.
 *
 * Ownership: borrows `runtime` and `params`; returns owned `*out`, freed by `zuno_session_free`. Threads: any; blocks
 * briefly. Errors: `arguments.*`, `not_found.object`, `busy.session`, `store.*`, `closed.*`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_session_open(const zuno_runtime_t *runtime,
                                zuno_str_t params,
                                zuno_session_t **out,
                                zuno_error_t **err);

/**
 * Frees the handle. The session itself stays as it is: open until `zuno_session_close`, and stored. NULL is a no-op.
 *
 * Ownership: consumes `session`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API void zuno_session_free(zuno_session_t *session);

/**
 * The id of a session; `zuno_session_open` finds it again, also after a restart.
 *
 * Ownership: borrows from `session`: valid until `zuno_session_free`. NULL for NULL. Threads: any. Errors: none.
 * Since: 0.1
 */
ZUNO_API const char *zuno_session_id(const zuno_session_t *session);

/**
 * The record of a session as JSON: its directory, state, mode, title and the rest (`session.get`).
 *
 * Ownership: borrows `session`; returns owned `*out`. Threads: any; blocks briefly. Errors: `arguments.null`, `store.*`,
 * `closed.*`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_session_record(const zuno_session_t *session,
                                  zuno_buf_t **out,
                                  zuno_error_t **err);

/**
 * The tools of a session as a model's API wants them: `{"tools":[]}`. `format` is "native", "openai", "anthropic" or
 * "mcp"; empty means "native".
 *
 * Ownership: borrows `session` and `format`; returns owned `*out`. Threads: any; blocks briefly. Errors: `arguments.*`,
 * `store.*`, `closed.*`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_session_tools(const zuno_session_t *session,
                                 zuno_str_t format,
                                 zuno_buf_t **out,
                                 zuno_error_t **err);

/**
 * Dispatches the calls of one model message and waits until all of them have settled.
 *
 * `calls` is JSON: `[{"name", "arguments", "callId"?}]`, or an object with `calls` and `messageId` or `final`. The
 * result has one entry in `results` per call, in their order. A call that fails is an entry, not an error of this
 * function.
 *
 * Ownership: borrows `session` and `calls`; returns owned `*out`. Threads: any; blocks the calling one, also while the
 * host decides. Errors: `arguments.*`, `conflict.call_changed`, `store.*`, `closed.*`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_session_dispatch(const zuno_session_t *session,
                                    zuno_str_t calls,
                                    zuno_buf_t **out,
                                    zuno_error_t **err);

/**
 * Dispatches calls without waiting: as `zuno_runtime_start` of `session.dispatch`. `zuno_runtime_cancel` cancels it.
 *
 * Ownership: borrows `session` and `calls`; `op` may be NULL. Threads: any; does not block. Errors: `arguments.*`,
 * `closed.*`: no end follows then. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_session_start_dispatch(const zuno_session_t *session,
                                          zuno_str_t calls,
                                          void *op_data,
                                          uint64_t *op,
                                          zuno_error_t **err);

/**
 * Interrupts what runs in a session. `*interrupted` says whether something ran.
 *
 * Ownership: borrows `session`; `interrupted` may be NULL. Threads: any; blocks briefly. Errors: `arguments.null`,
 * `store.*`, `closed.*`. Since: 0.1
 */
ZUNO_API zuno_status_t zuno_session_interrupt(const zuno_session_t *session, bool *interrupted, zuno_error_t **err);

/**
 * Closes a session and gives it back, so that another process may open it. Its handle stays valid.
 *
 * Ownership: borrows `session`. Threads: any; blocks until running calls have settled. Errors: `arguments.null`,
 * `store.*`, `closed.*`. Since: 0.1
 */
ZUNO_API zuno_status_t zuno_session_close(const zuno_session_t *session, zuno_error_t **err);

/**
 * Subscribes to the events of a session: `on_event` calls (push), or `event` items (pull). `after` < 0 starts now,
 * otherwise with the stored events after that number. `live` adds progress that is not stored.
 *
 * Ownership: borrows `session`; `subscription` may be NULL. Threads: any; blocks briefly. Errors: `arguments.null`,
 * `store.*`, `closed.*`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_session_subscribe(const zuno_session_t *session,
                                     int64_t after,
                                     bool live,
                                     uint64_t *subscription,
                                     zuno_error_t **err);

/**
 * Reads stored events after a number: `{"events":[], "last"}`. `limit` 0 means the library's page; at most 1000.
 *
 * Ownership: borrows `session`; returns owned `*out`. Threads: any; blocks briefly. Errors: `arguments.*`, `store.*`,
 * `closed.*`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_session_events(const zuno_session_t *session,
                                  int64_t after,
                                  uint32_t limit,
                                  zuno_buf_t **out,
                                  zuno_error_t **err);

/**
 * The questions of a session that wait for an answer: `{"questions":[]}`.
 *
 * Ownership: borrows `session`; returns owned `*out`. Threads: any; blocks briefly. Errors: `arguments.null`, `store.*`,
 * `closed.*`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_question_list(const zuno_session_t *session,
                                 zuno_buf_t **out,
                                 zuno_error_t **err);

/**
 * Answers a question: `answers` is JSON, the chosen labels or typed texts by item id, such as `{"q1":["Yes"]}`.
 * `revision` is the one the person saw. The same answer sent twice counts once; one to a question that has moved on is
 * refused and changes nothing. The result is `{"question", "inputId", "duplicate"}`.
 *
 * Other actions (defer, skip, cancel) are `zuno_runtime_call` of `question.respond`.
 *
 * Ownership: borrows `session`, `question_id` and `answers`; returns owned `*out`. Threads: any; blocks briefly.
 * Errors: `arguments.*`, `not_found.object`, `conflict.stale_revision`, `closed.*`, `store.*`. Since: 0.1
 */
ZUNO_API
zuno_status_t zuno_question_answer(const zuno_session_t *session,
                                   zuno_str_t question_id,
                                   int64_t revision,
                                   zuno_str_t answers,
                                   zuno_buf_t **out,
                                   zuno_error_t **err);

/**
 * Reads a document.
 *
 * Ownership: borrows `text`; returns owned `*out`, freed by `zuno_json_free`. Threads: any. Errors: `arguments.null`,
 * `arguments.utf8`, `arguments.json`. Since: 0.1
 */
ZUNO_API zuno_status_t zuno_json_parse(zuno_str_t text, zuno_json_t **out, zuno_error_t **err);

/**
 * Frees a document with its parts. NULL is a no-op.
 *
 * Ownership: consumes `json`, which must be a whole document. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API void zuno_json_free(zuno_json_t *json);

/**
 * A part of a document by its JSON Pointer (RFC 6901), such as "/results/0/output"; NULL when it is not there or the
 * pointer is not UTF-8. The empty pointer is the whole.
 *
 * Ownership: borrows from `json`: valid until its document is freed; borrows `pointer`. Threads: any. Errors: none.
 * Since: 0.1
 */
ZUNO_API const zuno_json_t *zuno_json_at(const zuno_json_t *json, zuno_str_t pointer);

/**
 * The element of an array, or the value of an object's member, by its position; NULL when it is not there.
 *
 * Ownership: borrows from `json`: valid until its document is freed. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API const zuno_json_t *zuno_json_item(const zuno_json_t *json, size_t index);

/**
 * The name of an object's member by its position; `{NULL, 0}` when it is not there.
 *
 * Ownership: borrows from `json`: valid until its document is freed; no NUL follows. Threads: any. Errors: none.
 * Since: 0.1
 */
ZUNO_API zuno_str_t zuno_json_key(const zuno_json_t *json, size_t index);

/**
 * How many elements an array or members an object has; 0 for everything else.
 *
 * Ownership: borrows `json`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API size_t zuno_json_count(const zuno_json_t *json);

/**
 * What a value is: one of the `ZUNO_JSON_` values, `ZUNO_JSON_ABSENT` for NULL.
 *
 * Ownership: borrows `json`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API int zuno_json_type(const zuno_json_t *json);

/**
 * The text of a string; `{NULL, 0}` when it is none.
 *
 * Ownership: borrows from `json`: valid until its document is freed; no NUL follows, so print it by its length. Threads:
 * any. Errors: none. Since: 0.1
 */
ZUNO_API
zuno_str_t zuno_json_text(const zuno_json_t *json);

/**
 * Whether a value is this string. `text` is NUL-terminated; false for NULL.
 *
 * Ownership: borrows `json` and `text`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API bool zuno_json_is(const zuno_json_t *json, const char *text);

/**
 * The value of a whole number; `otherwise` when it is none or does not fit.
 *
 * Ownership: borrows `json`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API int64_t zuno_json_int(const zuno_json_t *json, int64_t otherwise);

/**
 * The value of a number; `otherwise` when it is none.
 *
 * Ownership: borrows `json`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API double zuno_json_number(const zuno_json_t *json, double otherwise);

/**
 * The value of `true` or `false`; `otherwise` when it is neither.
 *
 * Ownership: borrows `json`. Threads: any. Errors: none. Since: 0.1
 */
ZUNO_API bool zuno_json_bool(const zuno_json_t *json, bool otherwise);

/**
 * A value as a document.
 *
 * Ownership: borrows `json`; returns owned `*out`. Threads: any. Errors: `arguments.null`. Since: 0.1
 */
ZUNO_API zuno_status_t zuno_json_write(const zuno_json_t *json, zuno_buf_t **out, zuno_error_t **err);

/**
 * A text as a JSON string with its quotes, to be put into a document.
 *
 * Ownership: borrows `text`; returns owned `*out`. Threads: any. Errors: `arguments.null`, `arguments.utf8`. Since: 0.1
 */
ZUNO_API zuno_status_t zuno_json_quote(zuno_str_t text, zuno_buf_t **out, zuno_error_t **err);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZUNO_H */

/* A NUL-terminated string as a `zuno_str_t`; NULL is the empty text. */
static inline zuno_str_t zuno_str(const char *text) {
    zuno_str_t view;
    view.ptr = text;
    view.len = text ? strlen(text) : 0;
    return view;
}

/* The text of a `zuno_buf_t` as a `zuno_str_t`. */
static inline zuno_str_t zuno_buf_str(const zuno_buf_t *buf) {
    zuno_str_t view;
    view.ptr = zuno_buf_ptr(buf);
    view.len = zuno_buf_len(buf);
    return view;
}
