import { Button, Group, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { useState } from "react";
import { useAddressFilters } from "../../address.ts";
import { answerOf, api } from "../../api.ts";
import { Moment } from "../../components/moment.tsx";
import { Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { reasonIn } from "../../text/reason-text.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";

type Trace = InferResponseType<typeof api.push.messages.$get, 200>;
type Message = Trace["messages"][number];
type Instance = Message["instances"][number];

/** "Why did 42 not get it?": the last messages to a user, and what became of them on every instance. */
export function MessageTrace() {
  const [{ user }, change] = useAddressFilters(["user"]);
  const [wanted, setWanted] = useState(user);
  return (
    <Panel title={t("push.trace")} about={t("push.traceAbout")}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change({ user: wanted.trim() });
        }}
      >
        <Group mb="md" align="flex-end">
          <TextInput
            label={t("push.userId")}
            value={wanted}
            required
            onChange={(event) => setWanted(event.currentTarget.value)}
          />
          <Button type="submit">{t("push.traceFind")}</Button>
        </Group>
      </form>
      {user !== "" && <Messages key={user} userId={user} />}
    </Panel>
  );
}

function Messages({ userId }: { userId: string }) {
  const query = useQuery({
    queryKey: ["push-messages", userId],
    queryFn: () => answerOf(api.push.messages.$get({ query: { user: userId } })),
  });
  return (
    <Loaded query={query}>
      {({ messages, refusedTokens, ...trace }) => (
        <>
          {messages.length === 0 && <Text>{t("push.traceNone", { userId: visible(userId) })}</Text>}
          <Notes {...trace} />
          <RefusedTokens userId={userId} tokens={refusedTokens} />
          <ul className="connection-list" aria-label={t("push.traceMessages", { userId: visible(userId) })}>
            {messages.map((message) => (
              <li key={message.id}>
                <OneMessage message={message} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Loaded>
  );
}

/** Why the user could not connect. */
function RefusedTokens({ userId, tokens }: { userId: string; tokens: Trace["refusedTokens"] }) {
  if (tokens.length === 0) return null;
  return (
    <>
      <Title order={3} size="h5">
        {t("push.refusedTokens", { userId: visible(userId) })}
      </Title>
      <ul>
        {tokens.map(({ instance, at, isSigned, cause, causeParts }) => (
          <li key={`${instance} ${at} ${cause}`}>
            <Text size="sm" component="div">
              {rich("push.refusedToken", {
                instance: visible(instance),
                time: <Moment at={at} />,
                cause: visible(reasonIn(cause, causeParts)),
              })}
              {!isSigned && ` ${t("push.refusedTokenUnsigned")}`}
            </Text>
          </li>
        ))}
      </ul>
    </>
  );
}

function Notes({ since, missing, addressedLike, connectedLike }: Omit<Trace, "messages" | "refusedTokens">) {
  const list = (names: string[]) => visible(names.join(t("words.listSeparator")));
  return (
    <Text size="sm" c="dimmed" component="div" mb="md">
      {since !== null && <div>{rich("push.traceSince", { time: <Moment at={since} /> })}</div>}
      {missing.length > 0 && <div>{t("push.traceMissing", { instances: list(missing) })}</div>}
      {addressedLike.length > 0 && <div>{t("push.traceAddressedLike", { users: list(addressedLike) })}</div>}
      {connectedLike.length > 0 && <div>{t("push.traceConnectedLike", { users: list(connectedLike) })}</div>}
    </Text>
  );
}

function OneMessage({ message }: { message: Message }) {
  const { id, publishedAt, targetType, ack, cause, causeParts, data, instances } = message;
  return (
    <article>
      <Title order={3} size="h5">
        {reasonIn(cause, causeParts)}
      </Title>
      <Text size="sm" c="dimmed">
        <code>{visible(id)}</code>{" "}
        {rich("push.traceHead", { target: targetType, time: <Moment at={publishedAt} /> })}
        {ack && ` · ${t("push.traceAck")}`}
      </Text>
      <details>
        <summary>{t("push.traceContent")}</summary>
        {data === null ? (
          <Text size="sm">{t("push.traceNoContent")}</Text>
        ) : (
          <pre className="foreign">{visible(data)}</pre>
        )}
      </details>
      <ul>
        {instances.map((instance) => (
          <li key={instance.instance}>
            <OneInstance instance={instance} />
          </li>
        ))}
      </ul>
    </article>
  );
}

function OneInstance({ instance }: { instance: Instance }) {
  const { state, connections, closedBefore, openedAfter, ...counts } = instance;
  const opened = openedAfter?.recovered ? "push.traceOpenedAfter" : "push.traceOpenedWithGap";
  return (
    <Text size="sm" component="div">
      {t("push.traceInstance", {
        ...counts,
        instance: visible(instance.instance),
        state: t(`push.trace_${state}`),
      })}
      {closedBefore && (
        <div>
          {rich("push.traceClosedBefore", {
            code: String(closedBefore.closeCode),
            time: <Moment at={closedBefore.at} />,
          })}
        </div>
      )}
      {openedAfter && <div>{rich(opened, { time: <Moment at={openedAfter.at} /> })}</div>}
      {connections.length > 0 && (
        <ul>
          {connections.map((connection) => (
            <li key={connection.connectionId}>
              <OneConnection connection={connection} />
            </li>
          ))}
        </ul>
      )}
    </Text>
  );
}

function OneConnection({ connection }: { connection: Instance["connections"][number] }) {
  const { connectionId, kind, protocol, state, isResumed, closeCode, at } = connection;
  const text = rich("push.traceConnection", {
    ...{ kind, protocol },
    id: <code>{connectionId}</code>,
    state: t(isResumed && state === "written" ? "push.delivery_resumed" : `push.delivery_${state}`),
    time: <Moment at={at} />,
  });
  if (closeCode === null) return text;
  return rich("push.traceConnectionClosed", { connection: text, code: String(closeCode) });
}
