import { Alert, Button, Checkbox, Group, PasswordInput, Text } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api, isChangedMeanwhile, queryClient } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { CopyText } from "../../components/copy-text.tsx";
import { Moment } from "../../components/moment.tsx";
import { ActProblem, Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { Conflict } from "../../components/save-bar.tsx";
import type { Webhook } from "../../shapes.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { useUnsaved } from "../../unsaved.ts";
import { useSaveWebhook } from "../../webhook-query.ts";
import { formatFor } from "./secret-format.ts";

const overlapMs = 24 * 3600 * 1000;

/** The shared secret: generated here, shown once, pasted at the host, saved. */
export function SecretPanel({ projectId, webhook }: { projectId: number; webhook: Webhook }) {
  const [secret, setSecret] = useState("");
  const [generated, setGenerated] = useState<string | null>(null);
  const [keepsOld, setKeepsOld] = useState(false);
  const generate = useAct(
    () =>
      answerOf(
        api.projects[":id"].webhook["generate-secret"].$post({
          param: { id: projectId },
          query: { format: formatFor(webhook) },
        }),
      ),
    {},
  );
  const save = useSaveWebhook(projectId, t("webhook.secretSaved"));
  useUnsaved(secret !== "");
  const forget = () => {
    setSecret("");
    setGenerated(null);
    setKeepsOld(false);
    save.reset();
  };
  const send = (revision: { revision?: string }) => {
    const overlap = keepsOld ? { secondSecretUntil: new Date(Date.now() + overlapMs).toISOString() } : {};
    // The error is shown below; the text is kept for another attempt.
    save.mutateAsync({ json: { secret, ...overlap }, ...revision }).then(forget, () => {});
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send({ revision: webhook.revision });
  };
  const reload = () => {
    forget();
    void queryClient.invalidateQueries({ queryKey: ["webhook"] });
  };
  const isConflict = isChangedMeanwhile(save.error);
  return (
    <Panel
      id="secret"
      title={t("webhook.secret")}
      about={webhook.secretSet ? t("webhook.secretSet") : t("webhook.secretUnset")}
    >
      {webhook.secondSecretSet && webhook.secondSecretUntil !== null && (
        <Text size="sm" mb="sm">
          {rich("webhook.secretOverlap", { when: <Moment at={webhook.secondSecretUntil} /> })}
        </Text>
      )}
      <ForManagers>
        <form className="form" onSubmit={submit}>
          <div>
            <Button
              variant="default"
              loading={generate.isPending}
              onClick={() =>
                generate.mutate(undefined, {
                  onSuccess: (made) => {
                    setSecret(made.secret);
                    setGenerated(made.secret);
                  },
                })
              }
            >
              {t("webhook.generate")}
            </Button>
          </div>
          {generated !== null && (
            <Alert color="tide" variant="light" title={t("webhook.generated")}>
              <Text size="sm" mb={8}>
                {t("webhook.generatedHint")}
              </Text>
              <CopyText value={generated} label={t("webhook.secretLabel")} />
            </Alert>
          )}
          <PasswordInput
            label={webhook.secretSet ? t("webhook.secretNew") : t("webhook.secret")}
            description={t("webhook.secretHint")}
            required
            autoComplete="off"
            value={secret}
            error={save.errorOf("secret")}
            onChange={(event) => setSecret(event.currentTarget.value)}
          />
          {webhook.secretSet && (
            <Checkbox
              label={t("webhook.keepOld")}
              checked={keepsOld}
              onChange={(event) => setKeepsOld(event.currentTarget.checked)}
            />
          )}
          {isConflict && (
            <Conflict isPending={save.isPending} onReload={reload} onOverwrite={() => send({})}>
              {t("webhook.secretChanged")}
            </Conflict>
          )}
          {!isConflict && <ActProblem title={t("webhook.secretNotSaved")} act={save} />}
          <Group gap="sm">
            <Button type="submit" disabled={secret === ""} loading={save.isPending}>
              {t("webhook.saveSecret")}
            </Button>
            {webhook.secretSet && (
              <ConfirmButton
                label={t("webhook.removeSecret")}
                title={t("webhook.removeSecretQuestion")}
                confirm={t("webhook.removeSecret")}
                isDanger
                onConfirm={() => save.mutateAsync({ json: { clearSecret: true } })}
              >
                {t("webhook.removeSecretHint")}
              </ConfirmButton>
            )}
          </Group>
        </form>
      </ForManagers>
    </Panel>
  );
}
