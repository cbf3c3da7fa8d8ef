import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { t } from "../text/text.ts";
import { webhookQuery } from "../webhook-query.ts";
import { Empty } from "./page.tsx";

/** What makes a first delivery appear: of one project, it depends on its webhook. */
export function NothingDelivered({ projectId }: { projectId: number | undefined }) {
  const webhook = useQuery({ ...webhookQuery(projectId ?? 0), enabled: projectId !== undefined });
  const isEnabled = webhook.data?.enabled ?? false;
  return (
    <Empty
      title={t("deliveries.noneYet")}
      action={
        projectId !== undefined && (
          <Link href={`/projects/${projectId}/webhook`}>{t("deliveries.toWebhook")}</Link>
        )
      }
    >
      {t(isEnabled ? "deliveries.noneYetEnabled" : "deliveries.noneYetHint")}
    </Empty>
  );
}
