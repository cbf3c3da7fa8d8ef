import type { ClientEvent, ClientHistory, FaultWindow, History, TakenPosition } from "./history.ts";
import { type Violation, violation } from "./violation.ts";

type Opened = Extract<ClientEvent, { type: "open" }>;

/** Below `push.resume.age` (120 s): a position may be older than its arrival. */
const ageLimitMs = 90_000;
/** The instance decides before the client reads the answer. */
const answerMs = 5_000;

/** Every client whose position is within the limits must be answered `recovered: true`, on any instance that can read its log. */
export function checkResumes({ clients, messages, faults }: History): Violation[] {
  const sentAt = new Map(messages.map(({ number, attempts }) => [number, attempts[0]?.sentAt ?? 0]));
  const takenAt = ({ at, number }: TakenPosition) => Math.min(at, sentAt.get(number ?? -1) ?? at);
  return clients.flatMap((client) =>
    client.events.flatMap((event) => {
      if (event.type !== "open" || event.recovered || !event.resumedFrom) return [];
      const positionAt = takenAt(event.resumedFrom);
      if (event.at - positionAt > ageLimitMs) return [];
      if (faults.some((fault) => excuses(fault, event, positionAt))) return [];
      return [violation("not-resumed", textOf(client, event, positionAt))];
    }),
  );
}

function excuses({ from, to, unreadable, breaksLogFile }: FaultWindow, event: Opened, positionAt: number) {
  if (breaksLogFile && positionAt <= to && event.at >= from) return true;
  return unreadable.includes(event.gateway) && from <= event.at && to >= event.at - answerMs;
}

function textOf({ name }: ClientHistory, { at, gateway }: Opened, positionAt: number): string {
  const age = ((at - positionAt) / 1000).toFixed(1);
  return `${name} was answered recovered: false by ${gateway} at ${(at / 1000).toFixed(3)} s; its position was ${age} s old`;
}
