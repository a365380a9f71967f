// Generated from schema/ by scripts/generate-types.mjs. Do not edit.

/** Codes of host operations, with their meaning. */
export interface ErrorCodes {
  /** the parameters do not have the form the method takes */
  "arguments.invalid": string;
  /** the document is not JSON */
  "arguments.json": string;
  /** no method has that name */
  "arguments.unknown_method": string;
  /** the parameters hold a field the method does not know */
  "arguments.unknown_field": string;
  /** the configuration holds an unknown key, a wrong type or a value out of range */
  "arguments.config": string;
  /** a tool registration is not acceptable */
  "arguments.bad_tool": string;
  /** a profile names a tool that is not registered */
  "arguments.unknown_name": string;
  /** a plan decision was sent to a question that approves no Plan */
  "arguments.not_a_plan": string;
  /** the approval of a Plan takes a plan decision only */
  "arguments.plan_decision_only": string;
  /** the question has no running clock to stop */
  "arguments.question_timer_unavailable": string;
  /** required input cannot be skipped */
  "arguments.required_input": string;
  /** a pointer that has to be given is NULL */
  "arguments.null": string;
  /** a text is not UTF-8 */
  "arguments.utf8": string;
  /** the program was compiled for another version of the C interface */
  "arguments.abi": string;
  /** another runtime owns the session */
  "busy.session": string;
  /** the runtime, session, request or question has ended */
  "closed.object": string;
  /** the runtime belongs to the process that forked this one */
  "closed.forked": string;
  /** the revision or identity given is not the current one */
  "conflict.revision": string;
  /** the message id was used before with other calls */
  "conflict.call_changed": string;
  /** the command id was used before with another body */
  "conflict.command_conflict": string;
  /** the expected revision is not the current one */
  "conflict.stale_revision": string;
  /** a tool of that name is registered already */
  "conflict.name_taken": string;
  /** the call has been reconciled */
  "conflict.already_reconciled": string;
  /** the same identity was published before with other content */
  "conflict.content": string;
  /** the operation failed for a reason outside the library */
  "failed.operation": string;
  /** the operation was cancelled by the host */
  "failed.canceled": string;
  /** the operation would wait for the thread that asked for it */
  "failed.would_deadlock": string;
  /** the side that had to answer no longer exists */
  "host.gone": string;
  /** the request was given up without an answer */
  "host.dropped": string;
  /** the host does not know that kind of request */
  "host.unsupported": string;
  /** the host's handler failed */
  "host.failed": string;
  /** a defect of the library; the call was ended and the process goes on */
  "internal.panic": string;
  /** no object has that id */
  "not_found.object": string;
  /** a rule, a person or a missing approval port refused */
  "permission.denied": string;
  /** no usable confinement on this machine */
  "sandbox.unavailable": string;
  /** the database file is damaged */
  "store.damaged": string;
  /** the database was written by a newer version */
  "store.newer_schema": string;
  /** the file is not a database */
  "store.not_a_database": string;
  /** the database or its folder cannot be written */
  "store.read_only": string;
  /** the folder of the database does not exist */
  "store.missing_directory": string;
  /** another copy of the library in this process has the database open */
  "store.second_copy": string;
  /** the database stayed locked by another process */
  "store.locked": string;
  /** reading or writing the database failed */
  "store.io": string;
  /** what the operation needs is not installed, configured or switched on */
  "unavailable.feature": string;
}
