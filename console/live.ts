import { useEffect, useSyncExternalStore } from "react";
import { type PushStatus, SlipwayPush } from "../client/slipway-push.ts";
import { projectChannel } from "../src/model/console/console-names.ts";
import { tell } from "./act.ts";
import { ApiProblem, answerOf, api, queryClient, refetchFailed } from "./api.ts";
import { checkServer } from "./reachability.ts";
import { t } from "./text/text.ts";

/** How often pages ask for news while the live connection is away. */
const pollMs = 4000;
/** How often they ask for what the live connection does not tell. */
const slowPollMs = 6000;
/** News that arrive together are fetched together. */
const gatherMs = 250;
/** Home costs the server more than other lists, and shows nothing that has to be seen at once. */
const homeGatherMs = 1000;
/** Events between the fetch of Home and the join of its channels are rare: one later fetch finds them. */
const homeJoinMs = 5000;
/** The gateway's limit per connection, less some room for task channels. */
const maxProjectChannels = 100;

/** Close code of a connection whose session is over. */
const lifetimeReached = 4003;

type ChannelListener = (data: unknown) => void;

/** The page's one live connection: temporary, so that people at the console do not count as online users. */
export class Live {
  readonly #push: SlipwayPush;
  readonly #listeners = new Map<string, Set<ChannelListener>>();
  readonly #staleKeys = new Set<string>();
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #home: { atMs: number; timer: ReturnType<typeof setTimeout> } | undefined;
  #wasOpen = false;
  /** Whether the first attempt failed, so that pages have shown what they fetched long before the connection. */
  #isLate = false;

  constructor(code: () => Promise<string | null>) {
    this.#push = new SlipwayPush({ url: `${location.origin}/ws`, temporary: true, code });
    this.#push.on("message", ({ target, data }) => this.#receive(target, data));
    this.#push.on("open", ({ reconnected, recovered }) => {
      const isStale = reconnected ? !recovered : this.#isLate;
      if (isStale) void queryClient.invalidateQueries();
      else refetchFailed();
    });
    this.#push.on("status", (status) => this.#follow(status));
    // Between the fetch of a list and the join of its channel something may have happened.
    this.#push.on("joined", () => {
      this.refresh("activity", "task", "projects", "services");
      this.#refreshHome(homeJoinMs);
    });
  }

  get status(): PushStatus {
    return this.#push.status;
  }

  onStatus(listener: () => void): () => void {
    return this.#push.on("status", listener);
  }

  open(): void {
    this.#push.open();
  }

  /** Open until the answer is called. The browser may keep a page that was left: it must not keep a connection. */
  whileShown(): () => void {
    const leave = () => this.#push.close();
    const enter = ({ persisted }: PageTransitionEvent) => persisted && this.open();
    addEventListener("pagehide", leave);
    addEventListener("pageshow", enter);
    this.open();
    return () => {
      removeEventListener("pagehide", leave);
      removeEventListener("pageshow", enter);
      this.close();
    };
  }

  close(): void {
    this.#push.close();
    clearTimeout(this.#gathering);
    clearTimeout(this.#home?.timer);
    this.#gathering = undefined;
    this.#home = undefined;
  }

  /** Joins the channel with its first listener and leaves it with its last. */
  listen(channel: string, listener: ChannelListener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    this.#push.join(channel);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      this.#listeners.delete(channel);
      this.#push.leave(channel);
    };
  }

  /** Follows what happens to these projects; those beyond the gateway's limit are left to `usePolling(false)`. */
  listenToProjects(ids: number[]): () => void {
    const stops = ids
      .slice(0, maxProjectChannels)
      .map((id) => this.listen(projectChannel(id), (data) => this.#apply(data)));
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** Fetches again what is shown of these kinds, soon and once. */
  refresh(...keys: string[]): void {
    if (keys.includes("home")) this.#refreshHome(homeGatherMs);
    for (const key of keys) if (key !== "home") this.#staleKeys.add(key);
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      for (const key of this.#staleKeys) void queryClient.invalidateQueries({ queryKey: [key] });
      this.#staleKeys.clear();
    }, gatherMs);
  }

  /** An earlier time replaces a later one. */
  #refreshHome(delayMs: number): void {
    const atMs = Date.now() + delayMs;
    if (this.#home !== undefined && this.#home.atMs <= atMs) return;
    clearTimeout(this.#home?.timer);
    const timer = setTimeout(() => {
      this.#home = undefined;
      void queryClient.invalidateQueries({ queryKey: ["home"] });
    }, delayMs);
    this.#home = { atMs, timer };
  }

  /** The session is over: to ask for the next code leads to the sign-in, or on, if there was one meanwhile. */
  #follow({ state, closeCode }: PushStatus): void {
    const isOver = this.#wasOpen && state === "closed" && closeCode === lifetimeReached;
    if (this.#wasOpen && state !== "open") checkServer();
    this.#wasOpen = state === "open";
    if (state === "waiting") this.#isLate = true;
    if (isOver) this.open();
  }

  #receive(channel: string, data: string): void {
    const parsed = parse(data);
    if (isRequest(parsed)) {
      this.refresh("activity", "home", "notices");
      tell(t("approval.requested", { id: parsed.task.id, project: parsed.project }));
    }
    for (const listener of this.#listeners.get(channel) ?? []) listener(parsed);
  }

  #apply(data: unknown): void {
    const type = typeof data === "object" && data !== null && "type" in data ? data.type : null;
    if (type === "task")
      this.refresh("activity", "task", "projects", "project", "releases", "services", "home", "notices");
    if (type === "services") this.refresh("services", "projects", "project", "home");
    if (type === "delivery") this.refresh("activity", "delivery", "home", "webhook-arrivals");
  }
}

/** A message to the user's own connections: a deploy waits for an approval. */
function isRequest(data: unknown): data is { project: string; task: { id: number } } {
  return typeof data === "object" && data !== null && "type" in data && data.type === "approval";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A code for one connection; null when nobody is signed in any more. */
async function consoleCode(): Promise<string | null> {
  try {
    return (await answerOf(api.push.codes.$post({ json: { for: "console" } }))).code;
  } catch (problem) {
    if (problem instanceof ApiProblem && problem.status === 401) return null;
    throw problem;
  }
}

export const live = new Live(consoleCode);

export function useLiveStatus(): PushStatus {
  return useSyncExternalStore(
    (listener) => live.onStatus(listener),
    () => live.status,
  );
}

/**
 * For `refetchInterval`: nothing to poll while the connection tells the news, else every few seconds. What it cannot
 * tell whole (`isCovered` is false) is polled beside it, more slowly.
 */
export function usePolling(isCovered = true): number | false {
  if (useLiveStatus().state !== "open") return pollMs;
  return isCovered ? false : slowPollMs;
}

/** For `refetchInterval`: no live update reports a new runner or a changed reason for waiting. */
export function whileWaiting(tasks: { waiting?: string | undefined }[], otherwise: number | false) {
  return tasks.some(({ waiting }) => waiting !== undefined) ? slowPollMs : otherwise;
}

/** For `refetchInterval` of a list: as long as it is empty there is no channel that could tell of its first. */
export function untilFilled(otherwise: number | false = false) {
  return ({ state }: { state: { data: { total: number } | undefined } }) =>
    state.data?.total === 0 ? pollMs : otherwise;
}

/** Whether one connection can follow this many projects. */
export function coversProjects(count: number): boolean {
  return count <= maxProjectChannels;
}

/** Keeps the shown projects live for as long as the component is on the page. */
export function useLiveProjects(ids: number[]): void {
  const key = ids.join(",");
  useEffect(() => live.listenToProjects(key === "" ? [] : key.split(",").map(Number)), [key]);
}
