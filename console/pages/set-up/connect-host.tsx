import { type ButtonProps, NativeSelect, TextInput } from "@mantine/core";
import { tell } from "../../act.ts";
import { answerOf, api, queryClient } from "../../api.ts";
import { FormButton } from "../../components/form-modal.tsx";
import { hostKinds, hostName, isHostKind, serverOf } from "../../git-hosts.ts";
import type { HostToken } from "../../host-token-query.ts";
import { t } from "../../text/text.ts";
import { tokenPageOf } from "./host-pages.ts";
import { HostTokenField } from "./host-token-field.tsx";

const example = "https://git.example.com";

/** A form that stores a token for a Git host. The server verifies it first. */
export function ConnectHost({
  button,
  onConnected,
}: {
  button: ButtonProps;
  onConnected?: (token: HostToken) => void;
}) {
  return (
    <FormButton
      title={t("hostHook.connectHost")}
      submit={t("hostHook.connect")}
      button={button}
      initial={{ kind: "github" as string, url: serverOf("github"), token: "" }}
      onSubmit={async ({ kind, url, token }) => {
        if (!isHostKind(kind)) return;
        const saved = await answerOf(api["host-tokens"].$post({ json: { kind, url: url.trim(), token } }));
        await queryClient.invalidateQueries({ queryKey: ["host-tokens"] });
        tell(t("hostHook.connected", { login: saved.login, origin: saved.origin }));
        onConnected?.(saved);
      }}
    >
      {({ value, set, text }) => {
        const kind = isHostKind(value.kind) ? value.kind : "github";
        const page = URL.canParse(value.url) ? tokenPageOf(kind, value.url, "manage") : null;
        const choose = (chosen: string) => {
          if (!isHostKind(chosen)) return;
          const isTyped = value.url !== "" && !hostKinds.map(serverOf).includes(value.url);
          set({ kind: chosen, ...(isTyped ? {} : { url: serverOf(chosen) }) });
        };
        return (
          <>
            <NativeSelect
              label={t("setUp.host")}
              data={hostKinds.map((each) => ({ value: each, label: hostName(each) }))}
              value={kind}
              onChange={(event) => choose(event.currentTarget.value)}
            />
            <TextInput
              label={t("hostHook.url")}
              placeholder={example}
              required
              autoComplete="off"
              spellCheck={false}
              {...text("url")}
            />
            <HostTokenField kind={kind} page={page} field={text("token")} />
          </>
        );
      }}
    </FormButton>
  );
}
