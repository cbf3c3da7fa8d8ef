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
import { shortRef } from "../../time-text.ts";
import { visible } from "../../visible.ts";

/** Asks the rules about a made-up push: the decision with its trace, or a real task. */
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
    <Panel title="Test" about="Asks the saved rules about a push that nobody made.">
      <form className="form" style={{ maxWidth: 820 }} onSubmit={submit}>
        <Group gap="md" align="flex-start" grow preventGrowOverflow={false}>
          <Select
            label="Event"
            data={["push", "tag", "merge_request"]}
            allowDeselect={false}
            value={event}
            onChange={(value) => setEvent(value ?? "push")}
          />
          <TextInput
            label="Branch or tag"
            required
            value={ref}
            onChange={(changed) => setRef(changed.currentTarget.value)}
          />
          <TextInput
            label="Commit message"
            value={message}
            onChange={(changed) => setMessage(changed.currentTarget.value)}
          />
        </Group>
        <TagsInput
          label="Changed files"
          description="Press Enter after each. Empty: unknown, as some hosts send."
          value={paths}
          onChange={setPaths}
        />
        <Group gap="sm">
          <Button type="submit" loading={send.isPending}>
            Try it
          </Button>
          <ConfirmButton
            label="Send it for real"
            title="Send it for real?"
            confirm="Start a task"
            onConfirm={() => send.mutateAsync(false)}
          >
            A real task is created, past signature, filters and debounce.
          </ConfirmButton>
        </Group>
      </form>
      {send.isError && <Problem problem={send.error} />}
      {send.data !== undefined && <Result data={send.data} />}
    </Panel>
  );
}

type TestAnswer = InferResponseType<(typeof api.projects)[":id"]["webhook"]["test"]["$post"], 200 | 202>;

function Result({ data }: { data: TestAnswer }) {
  if (!("dryRun" in data))
    return (
      <Alert mt="md" color="tide" variant="light" title={visible(data.message)}>
        {data.taskId === undefined ? (
          visible(data.reason)
        ) : (
          <Link href={`/tasks/${data.taskId}`}>Watch task {data.taskId}</Link>
        )}
      </Alert>
    );
  return (
    <div className="test-result">
      <StateLabel state={data.decision.status} strong />
      <Text size="sm" mb="md" className="foreign">
        {visible(data.decision.reason)}
      </Text>
      <Trace steps={data.trace} />
    </div>
  );
}
