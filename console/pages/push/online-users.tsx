import { Button, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Moment } from "../../components/moment.tsx";
import { Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
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
    <Panel
      title="Online users"
      about="With a normal connection to this instance; people at the console do not count."
    >
      <Loaded query={online}>
        {({ users }) =>
          users.length === 0 ? (
            <Text size="sm" c="dimmed">
              Nobody is online. Open the test connection to be the first.
            </Text>
          ) : (
            <>
              <Table aria-label="Online users">
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
                  and {users.length - shown} more
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
  const kick = useAct(() => answerOf(api.push.disconnect.$post({ json: { userId } })), {
    done: `${userId} was disconnected.`,
    refresh: ["push-online", "push-connections"],
  });
  return (
    <>
      <Table.Tr>
        <Table.Td className="foreign">{visible(userId)}</Table.Td>
        <Table.Td ta="right">
          <Button size="compact-sm" variant="subtle" aria-expanded={isOpened} onClick={onToggle}>
            Connections
          </Button>{" "}
          <ConfirmButton
            label="Kick"
            aria-label={`Kick ${userId}`}
            size="compact-sm"
            title={`Disconnect ${userId}?`}
            confirm="Disconnect"
            isDanger
            onConfirm={() => kick.mutateAsync(undefined)}
          >
            All connections of this user close with 4004; well-behaved clients do not come back by themselves.
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
                  <code>{connection.connectionId}</code> {connection.kind}, {connection.protocol}, from{" "}
                  {visible(connection.address)}, since <Moment at={connection.openedAt} />
                  {connection.channels.length > 0 && visible(`, in ${connection.channels.join(", ")}`)}
                </li>
              ))}
            </ul>
          )}
        </Loaded>
      </Table.Td>
    </Table.Tr>
  );
}
