import { Button, Group, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { useAddressFilters } from "../../address.ts";
import { ItemTable } from "../../components/list.tsx";
import { Moment } from "../../components/moment.tsx";
import { Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { pushHref } from "../../push-tabs.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { minuteText } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import { DisconnectButton } from "./disconnect-button.tsx";
import { MessageTimeline, type NameOf } from "./message-timeline.tsx";
import { UserState, type UserTrace, userTraceQuery } from "./user-state.tsx";

const shownAtFirst = 20;

/** "Why did 42 not get it?": where a user is, and what became of the last messages on every instance. */
export function FindUser() {
  const [{ user }, change] = useAddressFilters(["user"]);
  const [wanted, setWanted] = useState(user);
  const query = useQuery({ ...userTraceQuery(user), enabled: user !== "" });
  return (
    <div className="stack">
      <Panel title={t("push.find")} about={t("push.findAbout")}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (wanted.trim() === user) void query.refetch();
            else change({ user: wanted.trim() });
          }}
        >
          <Group align="flex-end">
            <TextInput
              label={t("push.userId")}
              value={wanted}
              required
              onChange={(event) => setWanted(event.currentTarget.value)}
            />
            <Button type="submit" loading={query.isFetching}>
              {t("push.findButton")}
            </Button>
          </Group>
        </form>
      </Panel>
      {user !== "" && (
        <Loaded query={query}>
          {(trace) => (
            <>
              <Where userId={user} trace={trace} />
              <RefusedTokens userId={user} tokens={trace.refusedTokens} nameOf={namesOf(trace)} />
              <Messages key={user} userId={user} trace={trace} />
            </>
          )}
        </Loaded>
      )}
    </div>
  );
}

function Where({ userId, trace }: { userId: string; trace: UserTrace }) {
  const connections = trace.user?.connections ?? [];
  const { addressedLike, connectedLike } = trace;
  return (
    <Panel
      title={<UserState userId={userId} trace={trace} />}
      action={connections.length > 0 && <DisconnectButton userId={userId} />}
    >
      {connections.length > 0 && (
        <Connections userId={userId} connections={connections} nameOf={namesOf(trace)} />
      )}
      {connectedLike.length > 0 && (
        <Text size="sm">{rich("push.traceConnectedLike", { users: links(connectedLike) })}</Text>
      )}
      {addressedLike.length > 0 && (
        <Text size="sm">{rich("push.traceAddressedLike", { users: links(addressedLike) })}</Text>
      )}
    </Panel>
  );
}

function links(users: string[]): ReactNode {
  return users.map((user, index) => (
    <span key={user}>
      {index > 0 && t("words.listSeparator")}
      <Link href={pushHref("find", `user=${encodeURIComponent(user)}`)} className="foreign">
        {visible(user)}
      </Link>
    </span>
  ));
}

type Connection = NonNullable<UserTrace["user"]>["connections"][number];

function Connections({
  userId,
  connections,
  nameOf,
}: {
  userId: string;
  connections: Connection[];
  nameOf: NameOf;
}) {
  return (
    <ItemTable
      label={t("push.connectionsOf", { userId: visible(userId) })}
      items={connections.map((each) => ({ ...each, id: each.connectionId }))}
      columns={[
        {
          title: t("push.connection"),
          cell: ({ id, kind, protocol, address, instance }) => (
            <>
              <span className="strong">
                {t("push.connectionAt", {
                  kind: t(`push.figure_${kind}`),
                  instance: visible(nameOf(instance)),
                })}
              </span>
              <div className="dim small">
                <code>{id}</code> · {protocol} · {visible(address)}
              </div>
            </>
          ),
        },
        { title: t("push.opened"), cell: ({ openedAt }) => <Moment at={openedAt} /> },
        {
          title: t("push.channels"),
          cell: ({ channels }) =>
            channels.length === 0 ? t("words.none") : visible(channels.join(t("words.listSeparator"))),
        },
      ]}
    />
  );
}

/** Why the user could not connect. */
function RefusedTokens({
  userId,
  tokens,
  nameOf,
}: {
  userId: string;
  tokens: UserTrace["refusedTokens"];
  nameOf: NameOf;
}) {
  if (tokens.length === 0) return null;
  return (
    <Panel title={t("push.refusedTokens", { userId: visible(userId) })}>
      <ul className="plain-list">
        {tokens.map(({ instance, at, isSigned, cause, causeParts }) => (
          <li key={`${instance} ${at} ${cause}`}>
            <Text size="sm" component="div">
              {rich("push.refusedToken", {
                instance: visible(nameOf(instance)),
                time: <Moment at={at} />,
                cause: visible(reasonIn(cause, causeParts)),
              })}
              {!isSigned && ` ${t("push.refusedTokenUnsigned")}`}
            </Text>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** The ids of instances matter only where there are several. */
function namesOf({ messages, user, refusedTokens, missing }: UserTrace): NameOf {
  const instances = new Set([
    ...messages.flatMap(({ instances }) => instances.map(({ instance }) => instance)),
    ...[...(user?.connections ?? []), ...refusedTokens].map(({ instance }) => instance),
    ...missing,
  ]);
  return (instance) => (instances.size > 1 ? instance : t("push.thisGateway"));
}

function Messages({ userId, trace }: { userId: string; trace: UserTrace }) {
  const { messages, since, missing } = trace;
  const [isWhole, setIsWhole] = useState(false);
  const shown = isWhole ? messages : messages.slice(0, shownAtFirst);
  const name = visible(userId);
  const nameOf = namesOf(trace);
  return (
    <Panel
      title={t("push.messages")}
      about={
        <>
          {t("push.messagesAbout")} {since !== null && t("push.traceSince", { time: minuteText(since) })}{" "}
          {missing.length > 0 &&
            t("push.traceMissing", { instances: visible(missing.join(t("words.listSeparator"))) })}
        </>
      }
    >
      {messages.every(({ targetType }) => targetType === "all") && (
        <Text>{t("push.traceNone", { userId: name })}</Text>
      )}
      <ul className="plain-list" aria-label={t("push.traceMessages", { userId: name })}>
        {shown.map((message) => (
          <li key={message.id}>
            <MessageTimeline message={message} nameOf={nameOf} />
          </li>
        ))}
      </ul>
      {shown.length < messages.length && (
        <Button variant="default" mt="sm" onClick={() => setIsWhole(true)}>
          {t("push.more", { count: messages.length - shown.length })}
        </Button>
      )}
    </Panel>
  );
}
