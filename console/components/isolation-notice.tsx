import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { answerOf, api } from "../api.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

const refreshMs = 30_000;

/** Warns admins that managers of a project can read everything that a runner's user can read. */
export function IsolationNotice() {
  const { data } = useQuery({
    queryKey: ["runners", "isolation"],
    queryFn: () => answerOf(api.runners.isolation.$get()),
    refetchInterval: refreshMs,
  });
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
