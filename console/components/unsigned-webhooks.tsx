import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { Link } from "wouter";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { unsignedWebhooksQuery } from "../webhook-query.ts";

const named = 3;

/** Lists, on every page, webhooks that accept deliveries from anyone, with a link to the setting. */
export function UnsignedWebhooks() {
  const { data } = useQuery(unsignedWebhooksQuery);
  if (data === undefined || data.total === 0) return null;
  const shown = data.items.slice(0, named);
  const more = data.total - shown.length;
  const links = shown.map(({ projectId, projectName }, index) => (
    <Fragment key={projectId}>
      {index > 0 && t("words.listSeparator")}
      <Link href={`/projects/${projectId}/webhook#secret`} className="foreign">
        {visible(projectName)}
      </Link>
    </Fragment>
  ));
  return (
    <Alert
      color="red"
      variant="light"
      role="note"
      aria-label={t("warning.unsignedLabel")}
      className="page-warning"
    >
      {rich("warning.unsigned", {
        count: data.total,
        projects: more > 0 ? rich("words.and", { list: links, count: more }) : links,
      })}
    </Alert>
  );
}
