import { Group, Select, TagsInput, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { EventName } from "../../../src/model/webhook-config.ts";
import { answerOf, api } from "../../api.ts";
import { Problem } from "../../components/page.tsx";
import { StateLabel } from "../../components/state.tsx";
import { Trace } from "../../components/trace.tsx";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import type { WebhookRules } from "../../webhook-query.ts";
import { eventChoices } from "./event-choices.ts";

interface Push {
  event: EventName;
  ref: string;
  message: string;
  paths: string[];
}

/** A push that did not happen, and how the rules on the screen decide it, with the trace of the decision. */
export function MadeUpPush({
  projectId,
  defaultRef,
  rules,
}: {
  projectId: number;
  defaultRef: string;
  rules: WebhookRules;
}) {
  const [push, setPush] = useState<Push>({ event: "push", ref: defaultRef, message: "", paths: [] });
  const set = (change: Partial<Push>) => setPush((before) => ({ ...before, ...change }));
  const [asked] = useDebouncedValue(push, 350);
  const query = useQuery({
    queryKey: ["made-up-push", projectId, asked, rules],
    queryFn: () => test(projectId, asked, rules),
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
  return (
    <section className="test-result" aria-label={t("webhook.test")}>
      <Text size="sm" fw={600}>
        {t("webhook.test")}
      </Text>
      <Group gap="sm">
        <Select
          flex="1 1 180px"
          label={t("webhook.testEvent")}
          data={eventChoices()}
          allowDeselect={false}
          value={push.event}
          onChange={(event) => event !== null && set({ event: event as EventName })}
        />
        <TextInput
          flex="1 1 110px"
          label={t("webhook.testRef")}
          value={push.ref}
          onChange={({ currentTarget }) => set({ ref: currentTarget.value })}
        />
      </Group>
      <Group gap="sm" grow align="start">
        <TextInput
          label={t("webhook.testMessage")}
          value={push.message}
          onChange={({ currentTarget }) => set({ message: currentTarget.value })}
        />
        <TagsInput
          label={t("webhook.testPaths")}
          placeholder={push.paths.length === 0 ? t("webhook.testPathsHint") : ""}
          value={push.paths}
          onChange={(paths) => set({ paths })}
        />
      </Group>
      {query.isError && <Problem title={t("webhook.testFailed")} problem={query.error} />}
      {query.data && "dryRun" in query.data && (
        <div role="status" style={{ opacity: query.isPlaceholderData ? 0.5 : 1 }}>
          <StateLabel state={query.data.decision.status} strong />
          <Text size="sm" className="foreign">
            {reasonIn(query.data.decision.reason, query.data.decision.reasonParts)}
          </Text>
          <details className="by-hand">
            <summary>{t("webhook.testTrace")}</summary>
            <Trace steps={query.data.trace} />
          </details>
        </div>
      )}
    </section>
  );
}

function test(projectId: number, { event, ref, message, paths }: Push, config: WebhookRules) {
  return answerOf(
    api.projects[":id"].webhook.test.$post({
      param: { id: projectId },
      json: {
        dryRun: true,
        event,
        ref,
        refType: event === "tag" ? "tag" : "branch",
        ...(message === "" ? {} : { message }),
        ...(paths.length === 0 ? {} : { paths }),
        config,
      },
    }),
  );
}
