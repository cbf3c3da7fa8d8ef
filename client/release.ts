import type { PushMessage } from "./push-events.ts";

/** A release that began to serve, as a deploy service publishes it to a channel. */
export interface Release {
  project: string;
  commit: string | null;
  taskId: number;
  /** Where users reach it; empty: not known. */
  url: string;
}

/** The release that a message of the channel is about; null: it is about something else. */
export function releaseOf({ targetType, target, data }: PushMessage, channel: string): Release | null {
  if (targetType !== "channel" || target !== channel) return null;
  try {
    const { type, ...release } = JSON.parse(data) as Release & { type?: unknown };
    return type === "release" ? release : null;
  } catch {
    return null; // A channel may have messages of any form.
  }
}
