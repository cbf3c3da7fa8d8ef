import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answerOf, api } from "../api.ts";

const refreshMs = 30_000;

/** For admins: people who manage a project can read what belongs to a runner. */
export function IsolationNotice() {
  const { data } = useQuery({
    queryKey: ["runners", "isolation"],
    queryFn: () => answerOf(api.runners.isolation.$get()),
    refetchInterval: refreshMs,
  });
  if (!data?.isExposed) return null;
  return (
    <Alert color="lamp" variant="light" role="note" mb="md" title="Scripts are not isolated">
      People who manage a project, without being administrators, can read what the user of the runner{" "}
      <span className="foreign">{data.notIsolated.join(", ")}</span> can read: for a local runner also the
      keys and the database of this server. See docs/security.md for what to do about it.
    </Alert>
  );
}
