/** React hook for a connection that several components share. */

import { useEffect, useRef, useSyncExternalStore } from "react";
import type { PushEvents, PushMessage, PushStatus, SlipwayPush } from "./slipway-push.ts";

export interface UsePush {
  /** Joined while the component is mounted. Other components may use the same ones. */
  channels?: string[];
  /**
   * Kinds of targets whose messages `onMessage` gets beside those of `channels`. Without `targets` and `channels`: all but
   * `channel`. `channel` stands for every channel of the connection.
   */
  targets?: PushMessage["targetType"][];
  /** Messages of `channels` and `targets` alone. */
  onMessage?: (message: PushMessage) => void;
  onOpen?: (opened: PushEvents["open"]) => void;
  onProblem?: (problem: PushEvents["problem"]) => void;
}

/**
 * Keeps the client open while a component that uses it is mounted, and returns its status. Create the client outside of
 * components, once.
 */
export function usePush(push: SlipwayPush, use: UsePush = {}): PushStatus {
  const latest = useRef(use);
  useEffect(() => {
    latest.current = use;
  });
  // Listeners before the users that open the client, so that the first message has one.
  useEffect(() => {
    const offs = [
      push.on("message", (message) => {
        if (concerns(latest.current, message)) latest.current.onMessage?.(message);
      }),
      push.on("open", (opened) => latest.current.onOpen?.(opened)),
      push.on("problem", (problem) => latest.current.onProblem?.(problem)),
    ];
    return () => {
      for (const off of offs) off();
    };
  }, [push]);
  const names = JSON.stringify(use.channels ?? []);
  useEffect(() => {
    const channels: string[] = JSON.parse(names);
    const users = usersOf(push);
    for (const channel of channels) users.add(channel);
    return () => {
      for (const channel of channels) users.remove(channel);
    };
  }, [push, names]);
  useEffect(() => {
    const users = usersOf(push);
    users.mount();
    return () => users.unmount();
  }, [push]);
  const status = () => push.status;
  return useSyncExternalStore((changed) => push.on("status", changed), status, status);
}

function concerns({ channels, targets }: UsePush, { targetType, target }: PushMessage): boolean {
  if (targetType === "channel" && channels?.includes(target)) return true;
  return targets?.includes(targetType) ?? (channels === undefined && targetType !== "channel");
}

/** The mounted components of one client and the channels that they use. */
class Users {
  readonly #push: SlipwayPush;
  readonly #channels = new Map<string, number>();
  #mounted = 0;

  constructor(push: SlipwayPush) {
    this.#push = push;
  }

  add(channel: string): void {
    this.#channels.set(channel, (this.#channels.get(channel) ?? 0) + 1);
    this.#push.join(channel);
  }

  /** In a later task: a component that is mounted again at once does not leave in between. */
  remove(channel: string): void {
    const count = (this.#channels.get(channel) ?? 1) - 1;
    this.#channels.set(channel, count);
    setTimeout(() => {
      if (this.#channels.get(channel) !== 0) return;
      this.#channels.delete(channel);
      this.#push.leave(channel);
    });
  }

  mount(): void {
    this.#mounted++;
    this.#push.open();
  }

  unmount(): void {
    this.#mounted--;
    setTimeout(() => {
      if (this.#mounted === 0) this.#push.close();
    });
  }
}

const users = new WeakMap<SlipwayPush, Users>();

function usersOf(push: SlipwayPush): Users {
  const known = users.get(push) ?? new Users(push);
  users.set(push, known);
  return known;
}
