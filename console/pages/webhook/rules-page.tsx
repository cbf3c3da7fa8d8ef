import { Link } from "wouter";
import { Notice } from "../../components/notice.tsx";
import type { Project, Webhook } from "../../shapes.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import { warningPlace } from "../../warning-place.ts";
import { useRulesDraft } from "../../webhook-query.ts";
import { Connection, LoadedWebhook } from "./connection.tsx";
import { RulesPanel } from "./rules.tsx";
import { RulesEffect } from "./rules-effect.tsx";

/** Which pushes deploy, with what that does to the last ones, and the connection to the Git host. */
export function RulesPage({ project }: { project: Project }) {
  return (
    <LoadedWebhook projectId={project.id}>
      {(webhook, arrival) => (
        <>
          <Connection project={project} webhook={webhook} arrival={arrival} />
          <Warnings webhook={webhook} />
          <Rules project={project} webhook={webhook} />
        </>
      )}
    </LoadedWebhook>
  );
}

function Rules({ project, webhook }: { project: Project; webhook: Webhook }) {
  const draft = useRulesDraft(webhook);
  return (
    <div className="rules">
      <RulesPanel webhook={webhook} draft={draft} />
      <RulesEffect
        projectId={project.id}
        defaultRef={project.git.ref}
        rules={draft.value}
        isChanged={draft.isChanged}
      />
    </div>
  );
}

/** The texts that the connection does not show by itself. */
function Warnings({ webhook: { projectId, warnings, warningParts } }: { webhook: Webhook }) {
  const shown = warnings.flatMap((text, index) => {
    const parts = warningParts[index] ?? [];
    const isShown = parts.some(({ code }) => code === "warn_no_secret" || code === "warn_no_base_url");
    return isShown ? [] : [{ text: reasonIn(text, parts), place: warningPlace(parts) }];
  });
  if (shown.length === 0) return null;
  return (
    <Notice label={t("webhook.warnings")} title={t("webhook.warningsTitle")}>
      <ul className="plain-list">
        {shown.map(({ text, place }) => (
          <li key={text}>
            {text}{" "}
            {!place.startsWith("rules") && (
              <Link href={`/projects/${projectId}/settings/${place}`}>{t("project.toSettings")}</Link>
            )}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
