// Generated from schema/ by scripts/generate-types.mjs. Do not edit.

/** Arguments of the built-in tools, by tool. */
export interface ToolArguments {
  /** Read a text file as numbered lines, an image or a PDF, or list a directory. One call shows at most 51200 bytes and 2000 lines and names the offset to continue with. A line of more than 2000 characters is cut and marked with its length; read its rest with `shell`, for example with `tail -c` and `head -c`. Reading a file is what allows this session to change it. */
  read: {
    /** File or directory; absolute, or relative to the workspace. */
    readonly filePath: string;
    /** First line or entry, 1-based; default 1. */
    readonly offset?: number;
    /** Number of lines or entries; default 2000. */
    readonly limit?: number;
    /** A few words for the person who watches; no instruction. */
    readonly intent?: string;
    /** Ask for the complete output inline even above the output limits; runs the call again. */
    readonly accept_large_output?: boolean;
  };
  /** Find files by glob, for example src/**\/*.rs. Lists the first 100 absolute paths in byte order. Hidden files are found, `.git` is not. Ignore files are honoured; a glob that names ignored files finds them, but not inside ignored directories. */
  glob: {
    /** Glob, for example src/**\/*.rs. */
    readonly pattern: string;
    /** Directory to search; default the workspace. */
    readonly path?: string;
    /** A few words for the person who watches; no instruction. */
    readonly intent?: string;
    /** Ask for the complete output inline even above the output limits; runs the call again. */
    readonly accept_large_output?: boolean;
  };
  /** Search file contents with a regular expression in ripgrep syntax. Shows the first 100 matching lines, by path and line number; long lines are cut. Hidden files are searched, `.git` is not. Ignore files are honoured; an include that names ignored files searches them, and a file given as path is always searched. */
  grep: {
    /** Regular expression in ripgrep syntax. */
    readonly pattern: string;
    /** Directory or file to search; default the workspace. */
    readonly path?: string;
    /** Glob that file names must match, for example *.ts. */
    readonly include?: string;
    /** A few words for the person who watches; no instruction. */
    readonly intent?: string;
    /** Ask for the complete output inline even above the output limits; runs the call again. */
    readonly accept_large_output?: boolean;
  };
  /** Create a file, or intentionally replace one whole. The content is written exactly as given; missing directories are created. A file that exists must have been read in this session first and must not have changed since. For a change of some lines use `apply_patch`. */
  write: {
    readonly filePath: string;
    /** The complete new content of the file. */
    readonly content: string;
    /** A few words for the person who watches; no instruction. */
    readonly intent?: string;
    /** Ask for the complete output inline even above the output limits; runs the call again. */
    readonly accept_large_output?: boolean;
  };
  /** Run a command in the workspace under the active sandbox and get its output, exit code and a verification receipt. Nothing carries over from the call before. `exitPolicy`: `pipefail` (default) makes a failing stage of a pipeline the command's failure, `all` also stops at the first failing command; choose `last` only on purpose, where a failing stage is acceptable. The receipt says how far the exit code reaches: join checks with `&&`, without `||` fallbacks, loops and nested shells, so that it is authoritative. Use `background` only when independent local work follows at once, and `backgroundPurpose: "remoteObserver"` for a command that only watches remote work. Some variables of the host are withheld from commands; that is a precaution and no confinement. */
  shell: {
    /** Text for the configured interpreter; executed exactly as written. */
    readonly command: string;
    /** Milliseconds until the call yields a handle; default 120000. It does not stop the command. */
    readonly timeout?: number;
    /** Existing directory; default the workspace. */
    readonly workdir?: string;
    readonly background?: boolean;
    readonly backgroundPurpose?: "command" | "remoteObserver";
    readonly expectedGitHead?: string;
    readonly exitPolicy?: "pipefail" | "all" | "last";
    /** A few words for the person who watches; no instruction. */
    readonly intent?: string;
    /** Ask for the complete output inline even above the output limits; runs the call again. */
    readonly accept_large_output?: boolean;
  };
  /** Read output that is not in the transcript, and look after commands that outlive their call. A background command reports its end by itself: do not poll for it. Use wait only when the next step needs the result now. output and wait without a cursor return the newest bytes; artifact starts at byte 0. Every result names the cursor of the next window. Reading never runs anything again. */
  bg: {
    /** list: no other field. output: requires taskID; allows cursor, limit. wait: requires taskID; allows cursor, limit, timeout. cancel: requires taskID. artifact: requires outputPath; allows cursor, limit. */
    readonly action: "list" | "output" | "wait" | "cancel" | "artifact";
    readonly taskID?: string;
    /** Absolute byte offset. */
    readonly cursor?: number;
    /** Window size in bytes; default 16384. */
    readonly limit?: number;
    /** Milliseconds; default 30000. */
    readonly timeout?: number;
    readonly outputPath?: string;
    /** A few words for the person who watches; no instruction. */
    readonly intent?: string;
    /** Ask for the complete output inline even above the output limits; runs the call again. */
    readonly accept_large_output?: boolean;
  };
  /** Asks the user. In Plan mode the call waits for the first response; in Work mode it returns a receipt at once and the answer arrives later as an input. Ask one question, at most three, and only what you cannot find out yourself. Give two or three exclusive options with the recommended one first; a typed answer is always possible. While a question is open, go on within existing authorization with the available evidence and stated assumptions. Silence, a skip, a deferral, a cancellation and a timeout are no consent, and a skipped question is not asked again. */
  question: {
    readonly questions: readonly {
      readonly question: string;
      readonly header: string;
      readonly options?: readonly {
        readonly label: string;
        readonly description: string;
      }[];
      readonly multiple?: boolean;
    }[];
    /** A few words for the person who watches; no instruction. */
    readonly intent?: string;
    /** Ask for the complete output inline even above the output limits; runs the call again. */
    readonly accept_large_output?: boolean;
  };
  /** Asks the user without waiting: returns a receipt at once, in every mode. The answer arrives later as an input. Ask one question, at most three, and only what you cannot find out yourself. Give two or three exclusive options with the recommended one first; a typed answer is always possible. While a question is open, go on within existing authorization with the available evidence and stated assumptions. Silence, a skip, a deferral, a cancellation and a timeout are no consent, and a skipped question is not asked again. */
  question_async: {
    readonly questions: readonly {
      readonly question: string;
      readonly header: string;
      readonly options?: readonly {
        readonly label: string;
        readonly description: string;
      }[];
      readonly multiple?: boolean;
    }[];
    /** A few words for the person who watches; no instruction. */
    readonly intent?: string;
    /** Ask for the complete output inline even above the output limits; runs the call again. */
    readonly accept_large_output?: boolean;
  };
}
