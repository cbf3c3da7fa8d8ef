import type { DeployProject, FaultWindow, History, ServiceMoment, ServiceView } from "./history.ts";
import { isDuringFault, overlapMs } from "./publishes.ts";
import { type Violation, violation } from "./violation.ts";

const serveLimitMs = 10_000;
const wrongLimitMs = 10_000;
const wrongLimitAwayMs = 30_000;

interface Span {
  from: number;
  to: number;
}

export function checkServices(history: History): Violation[] {
  const { services, projects, scriptLines, faults } = history;
  const copies = scriptLines.filter(({ event }) => event === "second-copy");
  return [
    ...copies.map(({ projectId, taskId }) =>
      violation("second-copy", `project ${projectId}: a second copy of the service of task ${taskId}`),
    ),
    ...services.flatMap((service) => {
      const { name } = projects.find(({ id }) => id === service.projectId) as DeployProject;
      return [...checkSilence(name, service, faults), ...checkStates(name, service, faults)];
    }),
  ];
}

/** What served once serves, except during faults. */
function checkSilence(name: string, { moments }: ServiceView, faults: FaultWindow[]): Violation[] {
  return silences(moments).flatMap((span) => {
    const ms = lengthOf(span) - overlapMs(faults, span.from, span.to);
    if (ms <= serveLimitMs) return [];
    return [violation("not-serving", `${name} did not answer for ${seconds(ms)} without a fault`)];
  });
}

function checkStates(name: string, { moments }: ServiceView, faults: FaultWindow[]): Violation[] {
  return wrongStates(moments).flatMap((span) => {
    const isAway = faults.some((fault) => !fault.sparesRunners && isDuringFault([fault], span.from, span.to));
    if (lengthOf(span) <= (isAway ? wrongLimitAwayMs : wrongLimitMs)) return [];
    const text = `the state of ${name} was wrong for ${seconds(lengthOf(span))} from ${seconds(span.from)} on`;
    return [violation("state-untrue", text)];
  });
}

function silences(moments: ServiceMoment[]): Span[] {
  const first = moments.findIndex(({ isOwed }) => isOwed);
  return first < 0 ? [] : spansOf(moments.slice(first), ({ isServed }) => !isServed);
}

/** A page that no server shows is not wrong. */
function wrongStates(moments: ServiceMoment[]): Span[] {
  return spansOf(moments, ({ isServed, shown }) =>
    isServed ? shown !== null && !["serving", "unhealthy"].includes(shown) : shown === "serving",
  );
}

/** The longest times of a round, in seconds. The stop of a service by a person is not one without an answer. */
export function longestTimes({ services, faults }: History): Record<string, number> {
  const stops = faults.filter(({ kind }) => kind === "service-actions");
  const longest = (spans: Span[]) => Math.round(Math.max(0, ...spans.map(lengthOf)) / 100) / 10;
  const silent = services.flatMap(({ moments }) => silences(moments));
  return {
    "s without an answer": longest(silent.filter((span) => !isDuringFault(stops, span.from, span.to))),
    "s with a wrong state": longest(services.flatMap(({ moments }) => wrongStates(moments))),
  };
}

/** Times during which something was so at each look. */
function spansOf(moments: ServiceMoment[], isSo: (moment: ServiceMoment) => boolean): Span[] {
  const spans: Span[] = [];
  let open: Span | null = null;
  for (const moment of moments) {
    if (!isSo(moment)) open = null;
    else if (open) open.to = moment.at;
    else {
      open = { from: moment.at, to: moment.at };
      spans.push(open);
    }
  }
  return spans;
}

const lengthOf = ({ from, to }: Span) => to - from;
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
