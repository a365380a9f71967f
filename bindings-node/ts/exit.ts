/** Runtimes that are open in this environment. */
const open = new Set<() => void>();

function closeAll(): void {
  for (const close of open) {
    try {
      close();
    } catch {
      // The process leaves; the others still want to be closed.
    }
  }
}

/** Runs `close` when the process leaves, also through `process.exit`; returns what takes that back. */
export function atExit(close: () => void): () => void {
  if (open.size === 0) process.on("exit", closeAll);
  open.add(close);
  return () => {
    open.delete(close);
    if (open.size === 0) process.off("exit", closeAll);
  };
}
