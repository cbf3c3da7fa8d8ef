import { List, Select, Text, TextInput } from "@mantine/core";
import { CopyBlock } from "../../components/copy-text.tsx";
import { Panel } from "../../components/page.tsx";
import { SaveBar } from "../../components/save-bar.tsx";
import type { TextName, TextProps } from "../../draft.ts";
import type { Webhook } from "../../shapes.ts";
import { useWebhookDraft } from "../../webhook-query.ts";
import { hostChoices, hosts, isHostName } from "./hosts.ts";
import { sendCommand } from "./send-command.ts";

/** Which host delivers, what to fill in there, and how it proves itself. */
export function HostPanel({ webhook }: { webhook: Webhook }) {
  const draft = useWebhookDraft(webhook, proofOf);
  const host = hosts[draft.value.provider];
  return (
    <Panel title="Git host" about="Decides how signatures are checked and payloads are read.">
      <form className="form" style={{ maxWidth: 820 }} onSubmit={draft.submit}>
        <Select
          label="Host"
          data={hostChoices}
          searchable
          allowDeselect={false}
          maw={340}
          value={draft.value.provider}
          onChange={(name) => isHostName(name) && draft.set({ provider: name })}
        />
        <div className="instructions">
          <Text size="sm" fw={600} mb={4}>
            {host.heading ?? `At ${host.label}`}
          </Text>
          <List type="ordered" size="sm" spacing={4}>
            {host.steps.map((step) => (
              <List.Item key={step}>{step}</List.Item>
            ))}
          </List>
          {draft.value.provider !== "generic" && (
            <Text size="sm" c="dimmed" mt={6}>
              It proves itself by {host.proof}.
            </Text>
          )}
        </div>
        {draft.value.provider === "generic" && (
          <>
            <GenericFields {...draft} />
            {webhook.url !== null && (
              <CopyBlock
                title="From a shell"
                value={sendCommand(webhook.url, { ...webhook, ...draft.value })}
                label="the command"
              />
            )}
          </>
        )}
        <SaveBar draft={draft} />
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

const proofChoices: { value: Proof["verifyMode"]; label: string }[] = [
  { value: "token", label: "the secret itself" },
  { value: "hmac", label: "HMAC-SHA256 of the body" },
  { value: "standard", label: "a signature of Standard Webhooks" },
];

function verifyModeOf(chosen: string | null): Proof["verifyMode"] {
  return proofChoices.find(({ value }) => value === chosen)?.value ?? "token";
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
        label="What the sender proves itself with"
        data={proofChoices}
        allowDeselect={false}
        maw={340}
        value={value.verifyMode}
        onChange={(mode) => set({ verifyMode: verifyModeOf(mode) })}
      />
      {value.verifyMode !== "standard" && (
        <>
          <TextInput label="Header of the secret" maw={340} {...text("secretHeader")} />
          <TextInput
            label="Query parameter of the secret"
            description="Asked when the header is missing."
            maw={340}
            {...text("secretQuery")}
          />
        </>
      )}
      {value.verifyMode === "hmac" && (
        <>
          <TextInput
            label="Prefix"
            description="Removed before comparing, for example sha256="
            maw={340}
            {...text("signaturePrefix")}
          />
          <Select
            label="Encoding"
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
