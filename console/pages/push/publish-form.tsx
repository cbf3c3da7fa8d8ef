import { Button, Select, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { Panel, Problem } from "../../components/page.tsx";
import { t } from "../../text/text.ts";

const targets = ["all", "user", "temp_user", "channel"] as const;

type TargetType = (typeof targets)[number];

/** Publishes one message and shows how many connections received it. */
export function PublishForm() {
  const [targetType, setTargetType] = useState<TargetType>("all");
  const [target, setTarget] = useState("");
  const [data, setData] = useState(() => t("push.sample"));
  const publish = useAct(
    () =>
      answerOf(
        api.push.publish.$post({ json: { targetType, target: targetType === "all" ? "" : target, data } }),
      ),
    { failed: t("push.publishFailed") },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    publish.mutate(undefined);
  };
  const receivers = publish.data?.receivers ?? null;
  return (
    <Panel title={t("push.publish")} about={t("push.publishAbout")}>
      <form className="form" onSubmit={submit}>
        <Select
          label={t("push.to")}
          data={targets.map((target) => ({ value: target, label: t(`push.target_${target}`) }))}
          allowDeselect={false}
          value={targetType}
          onChange={(value) => setTargetType(targets.find((each) => each === value) ?? "all")}
        />
        {targetType !== "all" && (
          <TextInput
            label={t(targetType === "channel" ? "push.channel" : "push.userId")}
            required
            value={target}
            onChange={(event) => setTarget(event.currentTarget.value)}
          />
        )}
        <Textarea
          label={t("push.message")}
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
            {t("push.send")}
          </Button>
          <span role="status" className="dim">
            {publish.isSuccess &&
              (receivers === null ? t("push.queued") : t("push.received", { count: receivers }))}
          </span>
        </div>
      </form>
    </Panel>
  );
}
