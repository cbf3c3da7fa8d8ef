import { Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { Link } from "wouter";
import { answerOf, api } from "../../api.ts";
import { Panel, Problem, Rows } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { StateLabel } from "../../components/state.tsx";
import { reasonIn } from "../../text/reason-text.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { shortRef } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import type { WebhookRules } from "../../webhook-query.ts";
import { MadeUpPush } from "./made-up-push.tsx";

const last = 50;
const shown = 5;

/** What the rules in the form, saved or not, do with the last pushes and with a made-up one. */
export function RulesEffect({
  projectId,
  defaultRef,
  rules,
  isChanged,
}: {
  projectId: number;
  defaultRef: string;
  rules: WebhookRules;
  isChanged: boolean;
}) {
  const [config] = useDebouncedValue(rules, 350);
  const query = useQuery({
    queryKey: ["deliveries", "what-if", projectId, config],
    queryFn: () =>
      answerOf(
        api.projects[":id"].webhook["what-if"].$post({ param: { id: projectId }, json: { config, last } }),
      ),
    placeholderData: keepPreviousData,
  });
  // The earlier answer stays in place, but says nothing about rules that were typed since.
  const isOutdated = query.isPlaceholderData || JSON.stringify(config) !== JSON.stringify(rules);
  return (
    <aside className="what-if" aria-label={t("webhook.effect")}>
      <Panel title={t(isChanged ? "webhook.effectUnsaved" : "webhook.effect")}>
        <section aria-label={t("webhook.lastPushes")} aria-live="polite">
          {query.isError ? (
            <Problem title={t("webhook.whatIfNotRun")} problem={query.error} />
          ) : query.data === undefined ? (
            <Rows count={shown} />
          ) : (
            <LastPushes data={query.data} isChanged={isChanged} isOutdated={isOutdated} />
          )}
        </section>
        <ForManagers>
          <MadeUpPush projectId={projectId} defaultRef={shortRef(defaultRef)} rules={config} />
        </ForManagers>
      </Panel>
    </aside>
  );
}

type Judged = InferResponseType<(typeof api.projects)[":id"]["webhook"]["what-if"]["$post"], 200>;

/** Those that change; while none does, the newest ones. */
function LastPushes({
  data: { items, changed },
  isChanged,
  isOutdated,
}: {
  data: Judged;
  isChanged: boolean;
  isOutdated: boolean;
}) {
  if (items.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t("webhook.whatIfNone")}
      </Text>
    );
  const listed = changed === 0 ? items : items.filter((item) => item.changes);
  return (
    <>
      <Text size="sm" {...(changed === 0 ? { c: "dimmed" } : {})}>
        {isOutdated
          ? t("webhook.whatIfLoading")
          : changed > 0
            ? rich("webhook.whatIfChanged", { total: items.length, changed: <b>{changed}</b> })
            : isChanged
              ? t("webhook.whatIfUnchanged", { count: items.length })
              : t("webhook.lastPushes")}
      </Text>
      <ul className="what-if-list">
        {listed.slice(0, shown).map((item) => (
          <LastPush key={item.delivery.id} item={item} />
        ))}
      </ul>
      {listed.length > shown && (
        <Text size="sm" c="dimmed">
          {t("webhook.whatIfMore", { count: listed.length - shown })}
        </Text>
      )}
    </>
  );
}

/** A delivery that was refused before the rules apply, such as for its signature, is shown as refused whatever the rules are. */
function LastPush({ item: { delivery, saved, proposed, changes } }: { item: Judged["items"][number] }) {
  const isRefused = delivery.status === "rejected" || delivery.status === "failed";
  const states = changes ? [saved.status, proposed.status] : [proposed.status];
  const why = isRefused
    ? `${t("webhook.whatIfRulesAlone", { state: states.map((state) => t(`state.${state}`)).join(" → ") })} ${reasonIn(delivery.reason, delivery.reason_parts)}`
    : reasonIn(proposed.reason, proposed.reasonParts);
  return (
    <li>
      <div className="what-if-turn">
        {!isRefused && changes && (
          <>
            <StateLabel state={saved.status} />
            <span aria-hidden="true">→</span>
          </>
        )}
        <StateLabel state={isRefused ? delivery.status : proposed.status} />
        <Link href={`/deliveries/${delivery.id}`} className="cut">
          {visible(
            `${shortRef(delivery.ref) || t("webhook.whatIfNumber", { id: String(delivery.id) })} ${delivery.commit_message}`,
          )}
        </Link>
      </div>
      <div className="dim foreign cut" title={why}>
        {why}
      </div>
    </li>
  );
}
