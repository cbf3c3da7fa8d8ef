import { Alert } from "@mantine/core";
import { Fragment } from "react";
import { Link, useLocation } from "wouter";
import { useNotices } from "../notices.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

/** On every page: the deploys that wait for an approval, among the projects that the user may view. */
export function WaitingApprovals() {
  const [path] = useLocation();
  const data = useNotices()?.approvals;
  // The page of the only request has it already.
  const isOnPage = data?.total === 1 && path === `/tasks/${data.items[0]?.taskId}`;
  if (!data || data.items.length === 0 || isOnPage) return null;
  return (
    <Alert
      color="lamp"
      variant="light"
      role="note"
      className="page-warning"
      aria-label={t("approval.waitingLabel")}
    >
      {t("approval.waiting", { count: data.total })}{" "}
      {data.items.map(({ taskId, projectName }, index) => (
        <Fragment key={taskId}>
          {index > 0 && t("words.listSeparator")}
          <Link href={`/tasks/${taskId}`} className="foreign">
            {t("approval.waitingTask", { project: visible(projectName), id: String(taskId) })}
          </Link>
        </Fragment>
      ))}
    </Alert>
  );
}
