import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { answerOf, api } from "../api.ts";
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
      aria-label="Scripts are not isolated"
      className="page-warning"
    >
      <b>Scripts are not isolated</b> on{" "}
      <span className="foreign">{visible(data.notIsolated.join(", "))}</span>: users who manage a project
      without being admins can read everything that the runner's user can read. On the local runner this
      includes the keys and the database of this server. See docs/security.md and{" "}
      <Link href="/runners">Runners</Link>.
    </Alert>
  );
}
