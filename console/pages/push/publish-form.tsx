import { Button, Select, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { Panel, Problem } from "../../components/page.tsx";

const targets = [
  { value: "all", label: "all connections", hint: "" },
  { value: "user", label: "one user", hint: "User id" },
  { value: "temp_user", label: "one user's temporary connections", hint: "User id" },
  { value: "channel", label: "a channel", hint: "Channel" },
] as const;

type TargetType = (typeof targets)[number]["value"];

/** Publishes one message and tells how many received it. */
export function PublishForm() {
  const [targetType, setTargetType] = useState<TargetType>("all");
  const [target, setTarget] = useState("");
  const [data, setData] = useState("Hello from the console");
  const publish = useAct(
    () =>
      answerOf(
        api.push.publish.$post({ json: { targetType, target: targetType === "all" ? "" : target, data } }),
      ),
    {},
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    publish.mutate(undefined);
  };
  const chosen = targets.find((each) => each.value === targetType);
  const receivers = publish.data?.receivers ?? null;
  return (
    <Panel title="Publish" about="What POST /feign/publish does, from here.">
      <form className="form" onSubmit={submit}>
        <Select
          label="To"
          data={targets.map(({ value, label }) => ({ value, label }))}
          allowDeselect={false}
          value={targetType}
          onChange={(value) => setTargetType(targets.find((each) => each.value === value)?.value ?? "all")}
        />
        {chosen !== undefined && chosen.hint !== "" && (
          <TextInput
            label={chosen.hint}
            required
            value={target}
            onChange={(event) => setTarget(event.currentTarget.value)}
          />
        )}
        <Textarea
          label="Message"
          className="script"
          required
          autosize
          minRows={3}
          value={data}
          onChange={(event) => setData(event.currentTarget.value)}
        />
        {publish.isError && <Problem problem={publish.error} />}
        <div className="publish-foot">
          <Button type="submit" loading={publish.isPending}>
            Publish
          </Button>
          <span role="status" className="dim">
            {publish.isSuccess &&
              (receivers === null
                ? "Written to the message queue."
                : `${receivers} ${receivers === 1 ? "connection" : "connections"} received it.`)}
          </span>
        </div>
      </form>
    </Panel>
  );
}
