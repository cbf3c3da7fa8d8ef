import { Alert } from "@mantine/core";
import { Link } from "wouter";
import { useNotices } from "../notices.ts";
import { t } from "../text/text.ts";

/** On every page: the deploys that wait for an approval, among the projects that the user may view. */
export function WaitingApprovals() {
  const data = useNotices()?.approvals;
  if (!data || data.items.length === 0) return null;
  return (
    <Alert
      color="lamp"
      variant="light"
      role="note"
      aria-label={t("approval.waitingLabel")}
      title={t("approval.waiting", { count: data.total })}
    >
      {data.items.map(({ taskId: id }, index) => (
        <span key={id}>
          {index > 0 && ", "}
          <Link href={`/tasks/${id}`}>{t("project.taskLink", { id: String(id) })}</Link>
        </span>
      ))}
    </Alert>
  );
}
