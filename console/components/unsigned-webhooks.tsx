import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { Link } from "wouter";
import { visible } from "../visible.ts";
import { unsignedWebhooksQuery } from "../webhook-query.ts";

const named = 3;

/** Lists, on every page, webhooks that accept deliveries from anyone, with a link to the setting. */
export function UnsignedWebhooks() {
  const { data } = useQuery(unsignedWebhooksQuery);
  if (data === undefined || data.total === 0) return null;
  const shown = data.items.slice(0, named);
  const more = data.total - shown.length;
  return (
    <Alert
      color="red"
      variant="light"
      role="note"
      aria-label="Webhooks without a secret"
      className="page-warning"
    >
      {data.total === 1 ? "A webhook has" : `${data.total} webhooks have`} no secret: anyone who knows the
      address can start a build. Set one for{" "}
      {shown.map(({ projectId, projectName }, index) => (
        <Fragment key={projectId}>
          {index > 0 && ", "}
          <Link href={`/projects/${projectId}/webhook#secret`} className="foreign">
            {visible(projectName)}
          </Link>
        </Fragment>
      ))}
      {more > 0 && ` and ${more} more`}.
    </Alert>
  );
}
