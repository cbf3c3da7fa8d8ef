import { Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Moment } from "../../components/moment.tsx";
import { closeReason } from "../../connection-reason.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import { exactText, secondText } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import type { UserTrace } from "./user-state.tsx";

type Message = UserTrace["messages"][number];
type Instance = Message["instances"][number];
type Connection = Instance["connections"][number];

type Tone = "success" | "failed" | "running" | "waiting";

interface Step {
  at: string;
  tone: Tone;
  text: string;
}

/**
 * The way of one message: what it says and to whom, what became of it, and the steps in the order of time. Ids, content and
 * counts are folded away, and so are the steps of a message that never had a connection.
 */
export function MessageTimeline({ message, nameOf }: { message: Message; nameOf: NameOf }) {
  const { publishedAt, targetType, target, cause, causeParts } = message;
  const kind = toTypes.find((each) => each === targetType);
  // Of a message to all, only the number of connections is known.
  const hadConnection = message.instances.some(
    ({ connections, written, waiting, closed }) => connections.length + written + waiting + closed > 0,
  );
  const steps = (
    <ol className="timeline">
      {stepsOf(message, nameOf).map(({ at, tone, text }) => (
        <li key={`${at} ${text}`} data-tone={tone}>
          <time dateTime={at} title={exactText(at)}>
            {secondText(Date.parse(at))}
          </time>
          <span>{text}</span>
        </li>
      ))}
    </ol>
  );
  return (
    <article className="message-way">
      <Title order={3} size="h5" className="foreign">
        {t("push.messageTo", { text: beginningOf(message.data), target: targetOf(message) })}
      </Title>
      <p className="message-end">
        {visible(namedIn(reasonIn(cause, causeParts), causeParts, nameOf))}{" "}
        <span className="dim">
          <Moment at={publishedAt} />
        </span>
      </p>
      {hadConnection && steps}
      <details>
        <summary>
          {t("push.details")}
          <span className="visually-hidden">
            {" "}
            {kind && t(`push.accepted_${kind}`, { target: visible(target) })} {exactText(publishedAt)}
          </span>
        </summary>
        {!hadConnection && steps}
        <Details message={message} nameOf={nameOf} />
      </details>
    </article>
  );
}

const toTypes = ["all", "user", "temp_user", "channel"] as const;

/** How an instance is called: where there is one, its id says nothing. */
export type NameOf = (instance: string) => string;

const shownLength = 60;

/** The first words of a message. */
function beginningOf(data: string | null | undefined): string {
  const [line = ""] = (data ?? "").trim().split("\n");
  if (line === "") return t("push.contentUnknown");
  return `“${visible(line.length > shownLength ? `${line.slice(0, shownLength)}…` : line)}”`;
}

function targetOf({ targetType, target: name, users }: Message): string {
  const target = visible(name);
  if (users !== null) return t("push.toSeveral", { count: users });
  if (targetType === "all") return t("push.toAll");
  if (targetType === "channel") return t("push.toChannel", { target });
  return t(targetType === "user" ? "push.toUser" : "push.toTemporary", { target });
}

/** A sentence of the server with the instance that it names as the page names it. */
function namedIn(text: string, parts: Message["causeParts"], nameOf: NameOf): string {
  const named = (parts ?? []).flatMap(({ values }) =>
    typeof values.instances === "string" ? [values.instances] : [],
  );
  return named.reduce((sentence, instance) => sentence.replace(instance, nameOf(instance)), text);
}

function stepsOf(message: Message, nameOf: NameOf): Step[] {
  const { publishedAt, targetType, target, instances, users } = message;
  const kind = toTypes.find((each) => each === targetType);
  const isRefused = instances.every(({ state }) => state === "refused");
  const accepted =
    users === null && kind
      ? t(`push.accepted_${kind}`, { target: visible(target) })
      : t("push.accepted_several", { count: users ?? 0 });
  const steps: Step[] = [
    ...(isRefused ? [] : [{ at: publishedAt, tone: "success" as const, text: accepted }]),
    // Clocks differ by a little: nothing is distributed before it is accepted.
    ...instances.flatMap((instance) =>
      instanceSteps(
        { ...instance, at: [publishedAt, instance.at].toSorted().at(-1) ?? publishedAt },
        nameOf(instance.instance),
      ),
    ),
  ];
  return steps.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

function instanceSteps(
  { state, at, connections, closedBefore, openedAfter }: Instance,
  instance: string,
): Step[] {
  const name = visible(instance);
  const tones = { distributed: "success", kept: "waiting", repeated: "waiting", refused: "failed" } as const;
  const steps: Step[] = [{ at, tone: tones[state], text: t(`push.at_${state}`, { instance: name }) }];
  // Where the user was around the message matters only if no connection was to get it.
  if (connections.length === 0 && closedBefore !== null)
    steps.push({
      at: closedBefore.at,
      tone: "waiting",
      text: t("push.closedBefore", { instance: name, reason: closeReason(closedBefore.closeCode) }),
    });
  if (connections.length === 0 && openedAfter !== null)
    steps.push({
      at: openedAfter.at,
      tone: openedAfter.recovered ? "waiting" : "failed",
      text: t(openedAfter.recovered ? "push.openedAfter" : "push.openedWithGap", { instance: name }),
    });
  return [...steps, ...connections.map(connectionStep)];
}

function connectionStep({ connectionId, protocol, state, isResumed, closeCode, at }: Connection): Step {
  const tones = {
    waiting: "running",
    written: "success",
    acknowledged: "success",
    closed: "failed",
  } as const;
  const values = { id: connectionId, protocol };
  const text = t(isResumed && state === "written" ? "push.way_resumed" : `push.way_${state}`, values);
  const end = closeCode === null ? "" : ` ${t("push.way_code", { reason: closeReason(closeCode) })}`;
  return { at, tone: tones[state], text: text + end };
}

function Details({
  message: { id, ack, data, instances },
  nameOf,
}: {
  message: Message;
  nameOf: NameOf;
}): ReactNode {
  return (
    <div className="small">
      <p>
        <code>{visible(id)}</code>
        {ack && ` · ${t("push.traceAck")}`}
      </p>
      {data === null ? (
        <p>{t("push.traceNoContent")}</p>
      ) : (
        <pre className="foreign source">{visible(data)}</pre>
      )}
      <ul className="plain-list">
        {instances.map(({ instance, written, waiting, acknowledged, closed }) => (
          <li key={instance}>
            {t("push.traceInstance", {
              instance: visible(nameOf(instance)),
              ...{ written, waiting, acknowledged, closed },
            })}
          </li>
        ))}
      </ul>
    </div>
  );
}
