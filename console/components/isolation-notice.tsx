import { Alert } from "@mantine/core";
import { Link } from "wouter";
import { useNotices } from "../notices.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

/** Warns admins that managers of a project can read everything that a runner's user can read. */
export function IsolationNotice() {
  const data = useNotices()?.isolation;
  if (!data?.isExposed) return null;
  return (
    <Alert
      color="lamp"
      variant="light"
      role="note"
      aria-label={t("warning.isolationLabel")}
      className="page-warning"
    >
      {rich("warning.isolation", {
        title: <b>{t("warning.isolationLabel")}</b>,
        runners: <span className="foreign">{visible(data.notIsolated.join(t("words.listSeparator")))}</span>,
        link: <Link href="/runners">{t("warning.runners")}</Link>,
      })}
    </Alert>
  );
}
