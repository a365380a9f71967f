/** Something under way that can be given up. */
export interface Running<T> {
  readonly result: Promise<T>;
  cancel(): void;
}

/**
 * Starts something unless the signal has fired; when it fires later the work is cancelled and the promise is rejected with
 * the signal's reason. The listener is gone when the promise is settled.
 */
export function abortable<T>(signal: AbortSignal | undefined, begin: () => Running<T>): Promise<T> {
  if (signal === undefined) return begin().result;
  if (signal.aborted) return Promise.reject(signal.reason as unknown);
  const running = begin();
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => {
      running.cancel();
      reject(signal.reason as unknown);
    };
    signal.addEventListener("abort", stop, { once: true });
    running.result.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
