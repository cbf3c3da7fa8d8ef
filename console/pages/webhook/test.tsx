import { Alert, Button, Group, Select, TagsInput, Text, TextInput } from "@mantine/core";
import type { InferResponseType } from "hono/client";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import type { EventName } from "../../../src/model/webhook-config.ts";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Panel, Problem } from "../../components/page.tsx";
import { StateLabel } from "../../components/state.tsx";
import { Trace } from "../../components/trace.tsx";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import { shortRef } from "../../time-text.ts";
import type { RulesDraft, WebhookRules } from "../../webhook-query.ts";
import { eventChoices } from "./event-choices.ts";

/** Applies the rules on the screen to a simulated push and shows the decision with its trace, or starts a real task. */
export function TestPanel({
  projectId,
  defaultRef,
  draft: { value: rules, isChanged },
}: {
  projectId: number;
  defaultRef: string;
  draft: RulesDraft;
}) {
  const [event, setEvent] = useState<EventName>("push");
  const [ref, setRef] = useState(shortRef(defaultRef));
  const [message, setMessage] = useState("");
  const [paths, setPaths] = useState<string[]>([]);
  const send = useAct(
    ({ dryRun, config }: { dryRun: boolean; config?: WebhookRules }) =>
      answerOf(
        api.projects[":id"].webhook.test.$post({
          param: { id: projectId },
          json: {
            dryRun,
            event,
            ref,
            refType: event === "tag" ? "tag" : "branch",
            ...(message === "" ? {} : { message }),
            ...(paths.length === 0 ? {} : { paths }),
            ...(config === undefined ? {} : { config }),
          },
        }),
      ),
    { refresh: ["tasks", "deliveries"] },
  );
  const tested = send.variables?.config;
  const isOutdated = tested !== undefined && JSON.stringify(tested) !== JSON.stringify(rules);
  const submit = (submitted: FormEvent) => {
    submitted.preventDefault();
    send.mutate({ dryRun: true, config: rules });
  };
  return (
    <Panel id="test" title={t("webhook.test")} about={t("webhook.testAbout")}>
      <form className="form" style={{ maxWidth: 820 }} onSubmit={submit}>
        <Group gap="md" align="flex-start" grow preventGrowOverflow={false}>
          <Select
            label={t("webhook.testEvent")}
            data={eventChoices()}
            allowDeselect={false}
            value={event}
            onChange={(value) => setEvent(value as EventName)}
          />
          <TextInput
            label={t("webhook.testRef")}
            required
            value={ref}
            onChange={(changed) => setRef(changed.currentTarget.value)}
          />
          <TextInput
            label={t("webhook.testMessage")}
            value={message}
            onChange={(changed) => setMessage(changed.currentTarget.value)}
          />
        </Group>
        <TagsInput
          label={t("webhook.testPaths")}
          description={t("webhook.testPathsHint")}
          value={paths}
          onChange={setPaths}
        />
        <Group gap="sm">
          <Button type="submit" loading={send.isPending}>
            {t("webhook.simulate")}
          </Button>
          <ConfirmButton
            label={t("webhook.deployNow")}
            title={t("webhook.deployNowQuestion")}
            confirm={t("webhook.deployNow")}
            onConfirm={() => send.mutateAsync({ dryRun: false })}
          >
            {t("webhook.deployNowHint")} {isChanged && t("webhook.deployNowUnsaved")}
          </ConfirmButton>
        </Group>
      </form>
      {send.isError && <Problem title={t("webhook.testFailed")} problem={send.error} />}
      {send.data !== undefined &&
        (isOutdated ? (
          <Text size="sm" c="dimmed" mt="md" role="status">
            {t("webhook.testOutdated")}
          </Text>
        ) : (
          <Result data={send.data} isUnsaved={isChanged} />
        ))}
    </Panel>
  );
}

type TestAnswer = InferResponseType<(typeof api.projects)[":id"]["webhook"]["test"]["$post"], 200 | 202>;

function Result({ data, isUnsaved }: { data: TestAnswer; isUnsaved: boolean }) {
  if (!("dryRun" in data))
    return (
      <Alert mt="md" color="tide" variant="light" title={reasonIn(data.message, data.messageParts)}>
        {data.taskId === undefined ? (
          reasonIn(data.reason, data.reasonParts)
        ) : (
          <Link href={`/tasks/${data.taskId}`}>{t("webhook.watchTask", { id: String(data.taskId) })}</Link>
        )}
      </Alert>
    );
  return (
    <div className="test-result">
      <StateLabel state={data.decision.status} strong />
      <Text size="sm" mb="md" className="foreign">
        {reasonIn(data.decision.reason, data.decision.reasonParts)}
      </Text>
      {isUnsaved && (
        <Text size="sm" c="dimmed" mb="md">
          {t("webhook.testUnsaved")}
        </Text>
      )}
      <Trace steps={data.trace} />
    </div>
  );
}
