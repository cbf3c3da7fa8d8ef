import type { Bus } from "../../bus/bus.ts";
import type { Clock } from "../../clock.ts";
import type { Logger } from "../../logger.ts";
import { oncePerSecond } from "../../once-per-second.ts";
import type { EventsByHttp } from "../events/events-by-http.ts";
import { type PresenceEvent, presenceEventId } from "../message/outgoing-event.ts";
import type { EventSink } from "./event-writer.ts";
import { type EventDestination, type PresenceReport, presentName } from "./presence-record.ts";

export interface EventSinkParts {
  /** Carries events to other services; null: there is no queue. */
  outbound: Bus | null;
  /** Null: push.events-uri is not set. */
  events: Pick<EventsByHttp, "presence" | "notePresenceDropped"> | null;
  node: string;
  steady: Clock;
  log: Logger;
}

/** Everything that takes presence events. */
export function eventSinks({ outbound, events, node, steady, log }: EventSinkParts): EventSink[] {
  const warnLeftOut = (to: EventDestination, count: number) =>
    log.warn({ to, count }, "too many presence events wait; some were left out");
  const queue: EventSink | null = outbound && {
    to: "queue",
    async write(reports) {
      await Promise.all(
        reports.map((report) => outbound.publish("events", report.userId, eventOf(report, node))),
      );
    },
    onFailed: oncePerSecond(steady, (count) =>
      log.warn({ count }, "presence events could not be written to the queue"),
    ),
    onLeftOut: (count) => warnLeftOut("queue", count),
  };
  const uri: EventSink | null = events && {
    to: "uri",
    write: (reports) => events.presence.send(reports.map((report) => eventOf(report, node))),
    // The sender logs it.
    onFailed() {},
    onLeftOut(count) {
      warnLeftOut("uri", count);
      events.notePresenceDropped(count);
    },
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
