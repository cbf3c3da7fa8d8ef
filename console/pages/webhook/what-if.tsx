import { Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { Link } from "wouter";
import { answerOf, api } from "../../api.ts";
import { Problem } from "../../components/page.tsx";
import { StateLabel } from "../../components/state.tsx";
import { reasonIn } from "../../text/reason-text.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import type { WebhookRules } from "../../webhook-query.ts";

const last = 50;
const shown = 12;

/** The past deliveries that the unsaved rules would decide differently. */
export function WhatIf({
  projectId,
  rules,
  isChanged,
}: {
  projectId: number;
  rules: WebhookRules;
  isChanged: boolean;
}) {
  const [config] = useDebouncedValue(rules, 350);
  const query = useQuery({
    queryKey: ["what-if", projectId, config],
    queryFn: () =>
      answerOf(
        api.projects[":id"].webhook["what-if"].$post({ param: { id: projectId }, json: { config, last } }),
      ),
    enabled: isChanged,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
  return (
    <aside className="what-if" aria-label={t("webhook.whatIf")} aria-live="polite">
      <Text size="sm" fw={600} mb={4}>
        {t("webhook.whatIf")}
      </Text>
      {!isChanged ? (
        <Text size="sm" c="dimmed">
          {t("webhook.whatIfHint", { count: last })}
        </Text>
      ) : query.isError ? (
        <Problem title={t("webhook.whatIfNotRun")} problem={query.error} />
      ) : query.data === undefined ? (
        <Text size="sm" c="dimmed">
          {t("webhook.whatIfLoading")}
        </Text>
      ) : (
        <Answer data={query.data} />
      )}
    </aside>
  );
}

type Judged = InferResponseType<(typeof api.projects)[":id"]["webhook"]["what-if"]["$post"], 200>;

function Answer({ data }: { data: Judged }) {
  if (data.items.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t("webhook.whatIfNone")}
      </Text>
    );
  if (data.changed === 0)
    return <Text size="sm">{t("webhook.whatIfUnchanged", { count: data.items.length })}</Text>;
  const changes = data.items.filter((item) => item.changes);
  return (
    <>
      <Text size="sm">
        {rich("webhook.whatIfChanged", { total: data.items.length, changed: <b>{data.changed}</b> })}
      </Text>
      <ul className="what-if-list">
        {changes.slice(0, shown).map(({ delivery, saved, proposed }) => (
          <li key={delivery.id}>
            <div className="what-if-turn">
              <StateLabel state={saved.status} />
              <span aria-hidden="true">→</span>
              <StateLabel state={proposed.status} />
            </div>
            <Link href={`/deliveries/${delivery.id}`} className="cut">
              {visible(
                `${delivery.ref || t("webhook.whatIfNumber", { id: String(delivery.id) })} ${delivery.commit_message}`,
              )}
            </Link>
            <span className="dim foreign">{reasonIn(proposed.reason, proposed.reasonParts)}</span>
          </li>
        ))}
      </ul>
      {changes.length > shown && (
        <Text size="sm" c="dimmed">
          {t("webhook.whatIfMore", { count: changes.length - shown })}
        </Text>
      )}
    </>
  );
}
