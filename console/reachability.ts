import { useSyncExternalStore } from "react";

/** After this long without an answer a visible page asks whether the server is there. With the time limit: 4 s. */
const silenceMs = 2000;
const answerMs = 2000;
/** How often it asks while the server is away. */
const awayMs = 1000;
/** Answers of a proxy whose server is away. */
const isOfProxy = (status: number) => status >= 502 && status <= 504;

const listeners = new Set<() => void>();
const backListeners = new Set<() => void>();
let lastAnswerAt = Date.now();
/** When the data on the page was current; null: the server answers. */
let staleSince: number | null = null;
let next: ReturnType<typeof setTimeout> | undefined;
let isAsking = false;

/** The server answered a request of the page. */
export function serverAnswered(status: number): void {
  if (isOfProxy(status)) {
    checkServer();
    return;
  }
  lastAnswerAt = Date.now();
  if (staleSince !== null) {
    setStale(null);
    for (const listener of backListeners) listener();
  }
  askIn(silenceMs);
}

/** Asks at once whether the server answers: a request failed, or the live connection is closed. */
export function checkServer(): void {
  clearTimeout(next);
  if (!isAsking) void ask();
}

/** Called when the server answers again, until the answer is called. */
export function onServerBack(listener: () => void): () => void {
  backListeners.add(listener);
  return () => backListeners.delete(listener);
}

/** When the data on the page was current; null while the server answers. */
export function useStaleSince(): number | null {
  return useSyncExternalStore(subscribe, () => staleSince);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setStale(since: number | null): void {
  staleSince = since;
  for (const listener of listeners) listener();
}

/** Any answer of the server counts, also a refusal by a proxy that does not pass this address on. */
async function ask(): Promise<void> {
  isAsking = true;
  const status = await fetch("/livez", { cache: "no-store", signal: AbortSignal.timeout(answerMs) }).then(
    (response) => response.status,
    () => null,
  );
  isAsking = false;
  if (status !== null && !isOfProxy(status)) serverAnswered(status);
  else {
    if (staleSince === null) setStale(lastAnswerAt);
    askIn(awayMs);
  }
}

/** A page that nobody sees does not ask; it does when it is shown again. */
function askIn(ms: number): void {
  clearTimeout(next);
  next = document.hidden ? undefined : setTimeout(checkServer, ms);
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) checkServer();
});
for (const change of ["online", "offline"]) window.addEventListener(change, checkServer);
askIn(silenceMs);
