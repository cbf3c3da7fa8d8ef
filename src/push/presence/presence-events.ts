import type { Bus } from "../../bus/bus.ts";
import type { EventSender } from "../events/event-sender.ts";
import { type PresenceEvent, presenceEventId } from "../message/message.ts";
import type { EventSink } from "./event-writer.ts";
import { type PresenceReport, presentName } from "./presence-record.ts";

export interface EventSinkParts {
  /** Carries events to other services; null: there is no queue. */
  outbound: Bus | null;
  /** Null: push.events-uri is not set. */
  sender: Pick<EventSender, "send"> | null;
  node: string;
  /** Called when events could not be written to the queue. */
  onQueueFailed: () => void;
}

/** Everything that takes presence events. */
export function eventSinks({ outbound, sender, node, onQueueFailed }: EventSinkParts): EventSink[] {
  const queue: EventSink | null = outbound && {
    to: "queue",
    async write(reports) {
      await Promise.all(
        reports.map((report) => outbound.publish("events", report.userId, eventOf(report, node))),
      );
    },
    onFailed: onQueueFailed,
  };
  const uri: EventSink | null = sender && {
    to: "uri",
    write: (reports) => sender.send(reports.map((report) => eventOf(report, node))),
    // The sender logs it.
    onFailed() {},
  };
  return [queue, uri].filter((sink) => sink !== null);
}

const channelTypes = { online: "occupied", offline: "vacated" } as const;
const memberTypes = { online: "joined", offline: "left" } as const;

function eventOf({ type, channel, userId, cause, at }: PresenceReport, node: string): PresenceEvent {
  const head = (name: PresenceEvent["type"], subject: string) => ({
    v: 1 as const,
    id: presenceEventId(name, subject, cause),
    ts: at,
    node,
  });
  if (channel === "") return { ...head(type, userId), type, userId };
  if (userId === "") return { ...head(channelTypes[type], channel), type: channelTypes[type], channel };
  const member = memberTypes[type];
  return { ...head(member, presentName(channel, userId)), type: member, channel, userId };
}
