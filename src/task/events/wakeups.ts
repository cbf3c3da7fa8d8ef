/** A queued task may have become claimable. */
export const queueTopic = "queue";

/** The state of a task has changed. */
export function taskTopic(taskId: number): string {
  return `task ${taskId}`;
}

/** Wakes waiting callers in this process for events of this process. */
export function buildWakeups() {
  const waiting = new Map<string, Set<() => void>>();
  let isClosed = false;

  function wake(topic: string): void {
    const resolvers = waiting.get(topic);
    waiting.delete(topic);
    for (const resolve of resolvers ?? []) resolve();
  }

  return {
    notify: wake,
    /** Resolves at the next notice of the topic, after `ms`, or when the signal is aborted. */
    wait(topic: string, ms: number, signal: AbortSignal): Promise<void> {
      if (isClosed || signal.aborted) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const resolvers = waiting.get(topic) ?? new Set();
      waiting.set(topic, resolvers.add(resolve));
      const timer = setTimeout(resolve, ms);
      const onAbort = () => resolve();
      signal.addEventListener("abort", onAbort, { once: true });
      return promise.finally(() => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        resolvers.delete(resolve);
        if (resolvers.size === 0 && waiting.get(topic) === resolvers) waiting.delete(topic);
      });
    },
    /** Wakes all callers, now and in the future. */
    close(): void {
      isClosed = true;
      for (const topic of [...waiting.keys()]) wake(topic);
    },
  };
}
export type Wakeups = ReturnType<typeof buildWakeups>;
