import { Alert, Button, Group, Select, TagsInput, Text, TextInput } from "@mantine/core";
import type { InferResponseType } from "hono/client";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Panel, Problem } from "../../components/page.tsx";
import { StateLabel } from "../../components/state.tsx";
import { Trace } from "../../components/trace.tsx";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import { shortRef } from "../../time-text.ts";

/** Applies the rules to a simulated push: shows the decision with its trace, or starts a real task. */
export function TestPanel({ projectId, defaultRef }: { projectId: number; defaultRef: string }) {
  const [event, setEvent] = useState("push");
  const [ref, setRef] = useState(shortRef(defaultRef));
  const [message, setMessage] = useState("");
  const [paths, setPaths] = useState<string[]>([]);
  const send = useAct(
    (dryRun: boolean) =>
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
          },
        }),
      ),
    { refresh: ["tasks", "deliveries"] },
  );
  const submit = (submitted: FormEvent) => {
    submitted.preventDefault();
    send.mutate(true);
  };
  return (
    <Panel title={t("webhook.test")} about={t("webhook.testAbout")}>
      <form className="form" style={{ maxWidth: 820 }} onSubmit={submit}>
        <Group gap="md" align="flex-start" grow preventGrowOverflow={false}>
          <Select
            label={t("webhook.testEvent")}
            data={["push", "tag", "merge_request"]}
            allowDeselect={false}
            value={event}
            onChange={(value) => setEvent(value ?? "push")}
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
            onConfirm={() => send.mutateAsync(false)}
          >
            {t("webhook.deployNowHint")}
          </ConfirmButton>
        </Group>
      </form>
      {send.isError && <Problem title={t("webhook.testFailed")} problem={send.error} />}
      {send.data !== undefined && <Result data={send.data} />}
    </Panel>
  );
}

type TestAnswer = InferResponseType<(typeof api.projects)[":id"]["webhook"]["test"]["$post"], 200 | 202>;

function Result({ data }: { data: TestAnswer }) {
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
      <Trace steps={data.trace} />
    </div>
  );
}
