import { Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { ActProblem, Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { defaultNotifyQuery } from "../../default-notify-query.ts";
import { t } from "../../text/text.ts";
import { useUnsaved } from "../../unsaved.ts";
import { type EditedTarget, freshTarget, sentTarget, TargetCard } from "../settings/notification-target.tsx";

const refresh = ["default-notify"];

/** The address that receives the messages of all projects. */
export function DefaultNotifications() {
  const query = useQuery(defaultNotifyQuery);
  return (
    <Panel title={t("system.notify")} about={t("system.notifyAbout")}>
      <Loaded query={query}>{({ target }) => <DefaultForm target={target} />}</Loaded>
    </Panel>
  );
}

function DefaultForm({ target }: { target: EditedTarget | null }) {
  const [edited, setEdited] = useState<EditedTarget | null>(null);
  useUnsaved(edited !== null);
  const save = useAct(
    (sent: EditedTarget) => {
      const { id: _id, ...json } = sentTarget(sent);
      return answerOf(api["default-notify"].$put({ json }));
    },
    { done: t("system.notifySaved"), refresh },
  );
  const test = useAct(() => answerOf(api["default-notify"].test.$post()), {});
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // What was refused is shown by the form.
    if (edited !== null)
      save.mutateAsync(edited).then(
        () => setEdited(null),
        () => {},
      );
  };
  const shown = edited ?? target;
  if (shown === null)
    return (
      <Button variant="default" onClick={() => setEdited(freshTarget)}>
        {t("system.notifyAdd")}
      </Button>
    );
  return (
    <form onSubmit={submit} className="form wide-form">
      <TargetCard
        target={shown}
        change={setEdited}
        fault={save.errorOf("url") ?? save.errorOf("secret")}
        signsWithSecret
        onTest={edited === null ? () => test.mutateAsync(undefined) : undefined}
      />
      <ActProblem act={save} />
      <Group>
        <Button type="submit" disabled={edited === null} loading={save.isPending}>
          {t("system.notifySave")}
        </Button>
        {target !== null && (
          <ConfirmButton
            label={t("system.notifyRemove")}
            title={t("system.notifyRemoveTitle")}
            confirm={t("system.notifyRemove")}
            isDanger
            onConfirm={() => answerOf(api["default-notify"].$delete())}
            done={t("system.notifyRemoved")}
            refresh={refresh}
          >
            {t("system.notifyRemoveAbout")}
          </ConfirmButton>
        )}
      </Group>
    </form>
  );
}
