import { Button, Select, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ActProblem, Panel } from "../../components/page.tsx";
import { pushHref } from "../../push-tabs.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { UserState, userTraceQuery } from "./user-state.tsx";

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
    // What was refused is shown by the form.
    publish.mutateAsync(undefined).catch(() => {});
  };
  // A result is that of the message on the screen.
  const edited =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      publish.reset();
      set(value);
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
          onChange={(value) => edited(setTargetType)(targets.find((each) => each === value) ?? "all")}
        />
        {targetType !== "all" && (
          <TextInput
            label={t(targetType === "channel" ? "push.channel" : "push.userId")}
            required
            value={target}
            error={publish.errorOf("target")}
            onChange={(event) => edited(setTarget)(event.currentTarget.value)}
          />
        )}
        <Textarea
          label={t("push.message")}
          className="script"
          required
          autosize
          minRows={3}
          value={data}
          error={publish.errorOf("data")}
          onChange={(event) => edited(setData)(event.currentTarget.value)}
        />
        <ActProblem act={publish} />
        <div className="publish-foot">
          <Button type="submit" loading={publish.isPending}>
            {t("push.send")}
          </Button>
          <span role="status" className="dim">
            {publish.isSuccess &&
              (receivers === null ? t("push.queued") : t("push.received", { count: receivers }))}
          </span>
        </div>
        {publish.isSuccess && !(receivers !== null && receivers > 0) && targetType.endsWith("user") && (
          <NotReceived userId={target} isCounted={receivers !== null} />
        )}
      </form>
    </Panel>
  );
}

/** Why nobody received it: where the user is. In a cluster nobody has counted, so it is only asked for by the link. */
function NotReceived({ userId, isCounted }: { userId: string; isCounted: boolean }) {
  const { data: trace } = useQuery({ ...userTraceQuery(userId), enabled: isCounted });
  return (
    <p className="small">
      {trace && (
        <>
          <UserState userId={userId} trace={trace} />{" "}
        </>
      )}
      <Link href={pushHref("find", `user=${encodeURIComponent(userId)}`)}>
        {t("push.findWhy", { userId: visible(userId) })}
      </Link>
    </p>
  );
}
