import { Alert, Button, Checkbox, Group, PasswordInput, Text } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api, isChangedMeanwhile, queryClient } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { CopyText } from "../../components/copy-text.tsx";
import { Moment } from "../../components/moment.tsx";
import { Panel, Problem } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { Conflict } from "../../components/save-bar.tsx";
import type { Webhook } from "../../shapes.ts";
import { useUnsaved } from "../../unsaved.ts";
import { useSaveWebhook } from "../../webhook-query.ts";

const overlapMs = 24 * 3600 * 1000;

/** What signs as Standard Webhooks describes it wants its key written as `whsec_…`; that text is a good token too. */
function formatFor({ provider, verifyMode }: Webhook): "whsec" | "base64url" {
  const isStandard = provider === "gitlab" || (provider === "generic" && verifyMode === "standard");
  return isStandard ? "whsec" : "base64url";
}

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
  const save = useSaveWebhook(projectId, "The secret is saved.");
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
      title="Secret"
      about={
        webhook.secretSet
          ? "One is set, stored encrypted and never shown. Deliveries that do not prove it are refused."
          : "None is set: deliveries are not verified."
      }
    >
      {webhook.secondSecretSet && webhook.secondSecretUntil !== null && (
        <Text size="sm" mb="sm">
          The secret before is accepted too; that ends <Moment at={webhook.secondSecretUntil} />.
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
              Generate a secret
            </Button>
          </div>
          {generated !== null && (
            <Alert color="tide" variant="light" title="Copy it to your Git host now">
              <Text size="sm" mb={8}>
                It is shown this once. It protects you only after you have saved it here, too.
              </Text>
              <CopyText value={generated} label="the secret" />
            </Alert>
          )}
          <PasswordInput
            label={webhook.secretSet ? "New secret" : "Secret"}
            description="Generated above, or one that your host already has."
            required
            autoComplete="off"
            value={secret}
            onChange={(event) => setSecret(event.currentTarget.value)}
          />
          {webhook.secretSet && (
            <Checkbox
              label="Accept the old secret for another 24 hours, until the host has the new one"
              checked={keepsOld}
              onChange={(event) => setKeepsOld(event.currentTarget.checked)}
            />
          )}
          {isConflict && (
            <Conflict isPending={save.isPending} onReload={reload} onOverwrite={() => send({})}>
              The webhook, possibly its secret, was changed after this page was loaded.
            </Conflict>
          )}
          {save.isError && !isConflict && <Problem problem={save.error} />}
          <Group gap="sm">
            <Button type="submit" disabled={secret === ""} loading={save.isPending}>
              Save the secret
            </Button>
            {webhook.secretSet && (
              <ConfirmButton
                label="Remove it"
                title="Remove the secret?"
                confirm="Remove the secret"
                isDanger
                onConfirm={() => save.mutateAsync({ json: { clearSecret: true } })}
              >
                Without a secret anybody who knows the address can start a deploy.
              </ConfirmButton>
            )}
          </Group>
        </form>
      </ForManagers>
    </Panel>
  );
}
