import type { Item } from "./items.js";

/** Items that no handler, stream or call of the typed layer has taken. */
export class RawQueue {
  readonly #items: Item[] = [];
  readonly #waiting = new Set<(item: Item | null) => void>();
  #ended = false;

  push(item: Item): void {
    const [first] = this.#waiting;
    if (first === undefined) this.#items.push(item);
    else first(item);
  }

  /** Nothing follows the item. */
  end(item: Item): void {
    this.push(item);
    this.#ended = true;
    for (const waiting of [...this.#waiting]) waiting(null);
  }

  /** The next item; `null` when none came within the time, or nothing follows. Waiting keeps no process alive. */
  next(timeoutMs: number | undefined): Promise<Item | null> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    if (this.#ended || timeoutMs === 0) return Promise.resolve(null);
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const give = (found: Item | null): void => {
        clearTimeout(timer);
        this.#waiting.delete(give);
        resolve(found);
      };
      if (timeoutMs !== undefined) timer = setTimeout(give, timeoutMs, null);
      this.#waiting.add(give);
    });
  }
}
