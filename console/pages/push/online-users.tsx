import { Button, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Moment } from "../../components/moment.tsx";
import { Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";

const refreshMs = 3000;
const shown = 100;

/** Users with a normal connection, each with its connections and the button that ends them. */
export function OnlineUsers() {
  const online = useQuery({
    queryKey: ["push-online"],
    queryFn: () => answerOf(api.push.online.$get({ query: {} })),
    refetchInterval: refreshMs,
  });
  const [opened, setOpened] = useState<string | null>(null);
  return (
    <Panel title={t("push.online")} about={t("push.onlineAbout")}>
      <Loaded query={online}>
        {({ users }) =>
          users.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t("push.nobodyOnline")}
            </Text>
          ) : (
            <>
              <Table aria-label={t("push.online")}>
                <Table.Tbody>
                  {users.slice(0, shown).map((userId) => (
                    <UserRow
                      key={userId}
                      userId={userId}
                      isOpened={opened === userId}
                      onToggle={() => setOpened(opened === userId ? null : userId)}
                    />
                  ))}
                </Table.Tbody>
              </Table>
              {users.length > shown && (
                <Text size="sm" c="dimmed">
                  {t("push.more", { count: users.length - shown })}
                </Text>
              )}
            </>
          )
        }
      </Loaded>
    </Panel>
  );
}

function UserRow({
  userId,
  isOpened,
  onToggle,
}: {
  userId: string;
  isOpened: boolean;
  onToggle: () => void;
}) {
  return (
    <>
      <Table.Tr>
        <Table.Td className="foreign">{visible(userId)}</Table.Td>
        <Table.Td ta="right">
          <Button size="compact-sm" variant="subtle" aria-expanded={isOpened} onClick={onToggle}>
            {t("push.connections")}
          </Button>{" "}
          <ConfirmButton
            label={t("push.disconnect")}
            aria-label={t("push.disconnectOne", { userId })}
            size="compact-sm"
            title={t("push.disconnectTitle", { userId })}
            confirm={t("push.disconnect")}
            isDanger
            onConfirm={() => answerOf(api.push.disconnect.$post({ json: { userId } }))}
            done={t("push.disconnected", { userId })}
            failed={t("push.disconnectFailed", { userId })}
            refresh={["push-online", "push-connections"]}
          >
            {t("push.disconnectText")}
          </ConfirmButton>
        </Table.Td>
      </Table.Tr>
      {isOpened && <Connections userId={userId} />}
    </>
  );
}

function Connections({ userId }: { userId: string }) {
  const query = useQuery({
    queryKey: ["push-connections", userId],
    queryFn: () => answerOf(api.push.connections.$get({ query: { userId } })),
    refetchInterval: refreshMs,
  });
  return (
    <Table.Tr>
      <Table.Td colSpan={2}>
        <Loaded query={query}>
          {({ connections = [] }) => (
            <ul className="connection-list">
              {connections.map((connection) => (
                <li key={connection.connectionId}>
                  <ConnectionText connection={connection} />
                </li>
              ))}
            </ul>
          )}
        </Loaded>
      </Table.Td>
    </Table.Tr>
  );
}

interface Connection {
  connectionId: string;
  kind: string;
  protocol: string;
  address: string;
  openedAt: string;
  channels: string[];
}

function ConnectionText({ connection }: { connection: Connection }) {
  const { connectionId, kind, protocol, address, openedAt, channels } = connection;
  const text = rich("push.connection", {
    id: <code>{connectionId}</code>,
    kind,
    protocol,
    address: visible(address),
    time: <Moment at={openedAt} />,
  });
  if (channels.length === 0) return text;
  const names = visible(channels.join(t("words.listSeparator")));
  return rich("push.connectionChannels", { connection: text, channels: names });
}
