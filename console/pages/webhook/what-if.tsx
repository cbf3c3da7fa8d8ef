import { Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { Link } from "wouter";
import { answerOf, api } from "../../api.ts";
import { Problem } from "../../components/page.tsx";
import { StateLabel } from "../../components/state.tsx";
import { visible } from "../../visible.ts";
import type { WebhookRules } from "../../webhook-query.ts";

const last = 50;
const shown = 12;

/** Of the last deliveries: which would have gone another way under the rules as they stand in the form. */
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
    <aside className="what-if" aria-label="Effect on past deliveries" aria-live="polite">
      <Text size="sm" fw={600} mb={4}>
        What would have happened
      </Text>
      {!isChanged ? (
        <Text size="sm" c="dimmed">
          Change a rule, and the last {last} deliveries are judged again here, before you save.
        </Text>
      ) : query.isError ? (
        <Problem problem={query.error} />
      ) : query.data === undefined ? (
        <Text size="sm" c="dimmed">
          Judging…
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
        There are no past deliveries to judge yet.
      </Text>
    );
  if (data.changed === 0)
    return (
      <Text size="sm">Of the last {data.items.length} deliveries, none would have gone another way.</Text>
    );
  const changes = data.items.filter((item) => item.changes);
  return (
    <>
      <Text size="sm">
        Of the last {data.items.length} deliveries, <b>{data.changed} would change</b>:
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
              {visible(`${delivery.ref || `delivery ${delivery.id}`} ${delivery.commit_message}`)}
            </Link>
            <span className="dim foreign">{visible(proposed.reason)}</span>
          </li>
        ))}
      </ul>
      {changes.length > shown && (
        <Text size="sm" c="dimmed">
          and {changes.length - shown} more
        </Text>
      )}
    </>
  );
}
