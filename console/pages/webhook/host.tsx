import { Select, Text, TextInput } from "@mantine/core";
import { CopyBlock } from "../../components/copy-text.tsx";
import { Panel } from "../../components/page.tsx";
import { FormFoot } from "../../components/save-bar.tsx";
import type { TextName, TextProps } from "../../draft.ts";
import { hostChoices, isHostName } from "../../git-hosts.ts";
import type { Webhook } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { useWebhookDraft } from "../../webhook-query.ts";
import { HostSteps } from "./host-steps.tsx";
import { postReceiveHook } from "./post-receive.ts";
import { sendCommand } from "./send-command.ts";

/** The Git host, the steps to take there, and how its deliveries are verified. */
export function HostPanel({ webhook }: { webhook: Webhook }) {
  const draft = useWebhookDraft(webhook, proofOf);
  return (
    <Panel id="host" title={t("webhook.host")} about={t("webhook.hostAbout")}>
      <form className="form" style={{ maxWidth: 820 }} onSubmit={draft.submit}>
        <Select
          label={t("webhook.hostLabel")}
          data={hostChoices()}
          searchable
          allowDeselect={false}
          maw={340}
          value={draft.value.provider}
          onChange={(name) => isHostName(name) && draft.set({ provider: name })}
        />
        <HostSteps provider={draft.value.provider}>
          {draft.value.provider !== "generic" && (
            <Text size="sm" c="dimmed" mt={6}>
              {t("webhook.hostProof", { proof: t(`hosts.${draft.value.provider}Proof`) })}
            </Text>
          )}
        </HostSteps>
        {draft.value.provider === "generic" && (
          <>
            <GenericFields {...draft} />
            {webhook.url !== null && (
              <>
                <CopyBlock
                  title={t("webhook.postReceive")}
                  value={postReceiveHook(webhook.url, { ...webhook, ...draft.value }, null)}
                  label={t("webhook.theHook")}
                />
                <CopyBlock
                  title={t("webhook.fromShell")}
                  value={sendCommand(webhook.url, { ...webhook, ...draft.value }, null)}
                  label={t("webhook.theCommand")}
                />
              </>
            )}
          </>
        )}
        <FormFoot
          draft={draft}
          failure={t("webhook.hostNotSaved")}
          labels={{
            provider: t("webhook.hostLabel"),
            secretHeader: t("webhook.secretHeader"),
            secretQuery: t("webhook.secretQuery"),
            verifyMode: t("webhook.proof"),
            signaturePrefix: t("webhook.prefix"),
            signatureEncoding: t("webhook.encoding"),
          }}
        />
      </form>
    </Panel>
  );
}

type Proof = Pick<
  Webhook,
  "provider" | "secretHeader" | "secretQuery" | "verifyMode" | "signaturePrefix" | "signatureEncoding"
>;

function proofOf(webhook: Webhook): Proof {
  const { provider, secretHeader, secretQuery, verifyMode, signaturePrefix, signatureEncoding } = webhook;
  return { provider, secretHeader, secretQuery, verifyMode, signaturePrefix, signatureEncoding };
}

function proofChoices(): { value: Proof["verifyMode"]; label: string }[] {
  return [
    { value: "token", label: t("webhook.proofToken") },
    { value: "hmac", label: t("webhook.proofHmac") },
    { value: "standard", label: t("webhook.proofStandard") },
  ];
}

function verifyModeOf(chosen: string | null): Proof["verifyMode"] {
  return proofChoices().find(({ value }) => value === chosen)?.value ?? "token";
}

function GenericFields({
  value,
  set,
  text,
}: {
  value: Proof;
  set: (change: Partial<Proof>) => void;
  text: (name: TextName<Proof>) => TextProps;
}) {
  return (
    <>
      <Select
        label={t("webhook.proof")}
        data={proofChoices()}
        allowDeselect={false}
        maw={340}
        value={value.verifyMode}
        onChange={(mode) => set({ verifyMode: verifyModeOf(mode) })}
      />
      {value.verifyMode !== "standard" && (
        <>
          <TextInput label={t("webhook.secretHeader")} maw={340} {...text("secretHeader")} />
          <TextInput
            label={t("webhook.secretQuery")}
            description={t("webhook.secretQueryHint")}
            maw={340}
            {...text("secretQuery")}
          />
        </>
      )}
      {value.verifyMode === "hmac" && (
        <>
          <TextInput
            label={t("webhook.prefix")}
            description={t("webhook.prefixHint")}
            maw={340}
            {...text("signaturePrefix")}
          />
          <Select
            label={t("webhook.encoding")}
            data={["hex", "base64"]}
            allowDeselect={false}
            maw={340}
            value={value.signatureEncoding}
            onChange={(encoding) => set({ signatureEncoding: encoding === "base64" ? "base64" : "hex" })}
          />
        </>
      )}
    </>
  );
}
