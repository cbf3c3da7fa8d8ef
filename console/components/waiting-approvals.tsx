import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { waitingTasksQuery } from "../task-query.ts";

/** On every page: the deploys that wait for an approval, among the projects that the user may view. */
export function WaitingApprovals() {
  const { data } = useQuery(waitingTasksQuery);
  if (!data || data.items.length === 0) return null;
  return (
    <Alert
      color="lamp"
      variant="light"
      role="note"
      aria-label="Deploys that wait for an approval"
      title={
        data.total === 1 ? "A deploy waits for an approval" : `${data.total} deploys wait for an approval`
      }
    >
      {data.items.map(({ id }, index) => (
        <span key={id}>
          {index > 0 && ", "}
          <Link href={`/tasks/${id}`}>task {id}</Link>
        </span>
      ))}
    </Alert>
  );
}
