import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answerOf, api } from "../../api.ts";
import { Moment } from "../../components/moment.tsx";
import type { Project } from "../../shapes.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";

const refreshMs = 10_000;

/** The last attempts to send a notification or a commit status, with what the receivers answered. */
export function NotificationAttempts({ project }: { project: Project }) {
  const { data } = useQuery({
    queryKey: ["project", project.id, "notification-attempts"],
    queryFn: () => answerOf(api.projects[":id"]["notification-attempts"].$get({ param: { id: project.id } })),
    refetchInterval: refreshMs,
  });
  if (data === undefined) return null;
  if (data.items.length === 0)
    return (
      <Text size="sm" mt="lg" c="dimmed">
        {t("notify.noAttempts")}
      </Text>
    );
  return (
    <Table aria-label={t("notify.attempts")} className="list-table" mt="lg">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("notify.when")}</Table.Th>
          <Table.Th>{t("notify.what")}</Table.Th>
          <Table.Th>{t("notify.receiver")}</Table.Th>
          <Table.Th>{t("notify.result")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {data.items.map(
          ({ id, at, kind, event, host, attempt, delivered, status, fault, faultParts, response }) => (
            <Table.Tr key={id}>
              <Table.Td>
                <Moment at={at} />
              </Table.Td>
              <Table.Td>
                {kind === "commit status" ? t("notify.statusEvent", { event }) : event}
                {attempt > 1 && t("notify.attemptNumber", { number: attempt })}
              </Table.Td>
              <Table.Td className="mono">{visible(host)}</Table.Td>
              <Table.Td>
                {delivered
                  ? t("notify.delivered")
                  : t("notify.notDelivered", { fault: reasonIn(fault, faultParts) })}
                {status !== null && ` (${status})`}
                {response !== "" && (
                  <Text size="xs" c="dimmed" className="foreign mono">
                    {visible(response)}
                  </Text>
                )}
              </Table.Td>
            </Table.Tr>
          ),
        )}
      </Table.Tbody>
    </Table>
  );
}
