import { Alert } from "@mantine/core";
import { Fragment } from "react";
import { Link } from "wouter";
import { useNotices } from "../notices.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

const named = 3;

/** Lists, on every page, webhooks that accept deliveries from anyone, with a link to the setting. */
export function UnsignedWebhooks() {
  const data = useNotices()?.unsignedWebhooks;
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
