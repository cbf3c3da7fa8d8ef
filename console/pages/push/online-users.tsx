import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { answerOf, api } from "../../api.ts";
import { Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { pushHref } from "../../push-tabs.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { DisconnectButton } from "./disconnect-button.tsx";

const refreshMs = 3000;
const shown = 100;

/** Users with a normal connection. Each leads to what is known about the user. */
export function OnlineUsers() {
  const online = useQuery({
    queryKey: ["push-online"],
    queryFn: () => answerOf(api.push.online.$get({ query: {} })),
    refetchInterval: refreshMs,
  });
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
                    <Table.Tr key={userId}>
                      <Table.Td>
                        <Link
                          href={pushHref("find", `user=${encodeURIComponent(userId)}`)}
                          className="foreign"
                        >
                          {visible(userId)}
                        </Link>
                      </Table.Td>
                      <Table.Td ta="right">
                        <DisconnectButton userId={userId} />
                      </Table.Td>
                    </Table.Tr>
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
