import { Alert, Button, Checkbox, Group, PasswordInput, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { FormButton } from "../../components/form-modal.tsx";
import { Moment } from "../../components/moment.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { hostHookQuery } from "../../host-hook-query.ts";
import type { Project, Webhook } from "../../shapes.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { isSshUrl } from "./repository-step.tsx";

type Token = InferResponseType<(typeof api)["host-tokens"]["$get"], 200>["items"][number];
type Hook = NonNullable<InferResponseType<(typeof api.projects)[":id"]["host-hook"]["$get"], 200>["hook"]>;
type Kind = Token["kind"];

const touched = ["host-hook", "host-tokens", "webhook", "project", "unsigned-webhooks"];

function isKind(provider: string): provider is Kind {
  return ["github", "gitlab", "gitea", "gitee"].includes(provider);
}

/** The web address of the server in a clone URL. */
function originOf(cloneUrl: string): string {
  const host = isSshUrl(cloneUrl) ? /^(?:ssh:\/\/)?(?:[^@/]*@)?([^:/]+)/i.exec(cloneUrl)?.[1] : null;
  if (host) return `https://${host}`;
  return URL.canParse(cloneUrl) ? new URL(cloneUrl).origin : "";
}

/** The webhook that Slipway creates, checks and repairs at the Git host. Null where the host has no known API. */
export function HostHookPanel({ project, webhook }: { project: Project; webhook: Webhook }) {
  const hook = useQuery(hostHookQuery(project.id)).data?.hook;
  if (hook === undefined || (hook === null && !isKind(webhook.provider))) return null;
  return (
    <Panel title={t("hostHook.title")} about={t("hostHook.about")}>
      {hook !== null && <HookState hook={hook} />}
      <ForManagers>
        <Connect project={project} hook={hook} kind={hook?.kind ?? (webhook.provider as Kind)} />
      </ForManagers>
    </Panel>
  );
}

function HookState({ hook }: { hook: Hook }) {
  const titles: Record<Hook["state"], string> = {
    ok: t("hostHook.ok"),
    missing: t("hostHook.missing"),
    disabled: t("hostHook.disabled"),
    changed: t("hostHook.changed"),
    unknown: t("hostHook.unknown"),
  };
  return (
    <Alert
      color={hook.state === "ok" ? "teal" : "lamp"}
      variant="light"
      role="status"
      title={titles[hook.state]}
      mb="md"
    >
      <div className="foreign">
        {visible(`${hook.origin}/${hook.path}`)} {visible(hook.note)}
      </div>
      <Text size="sm">
        {rich(hook.isChecked ? "hostHook.checked" : "hostHook.notChecked", {
          when: <Moment at={hook.checkedAt} />,
        })}
        {hook.hasDeployKey && ` ${t("hostHook.hasKey")}`}
      </Text>
    </Alert>
  );
}

function Connect({ project, hook, kind }: { project: Project; hook: Hook | null; kind: Kind }) {
  const tokens = useQuery({
    queryKey: ["host-tokens"],
    queryFn: () => answerOf(api["host-tokens"].$get()),
  });
  const origin = hook?.origin ?? originOf(project.git.url);
  const host = URL.canParse(origin) ? new URL(origin).hostname : "";
  const own = tokens.data?.items.find(
    (token) => token.kind === kind && (token.origin === origin || new URL(token.origin).hostname === host),
  );
  const mayMakeKey = isSshUrl(project.git.url) && !(hook?.hasDeployKey ?? false);
  const [wantsKey, setWantsKey] = useState(true);
  const param = { id: project.id };
  const connect = useAct(
    (tokenId: number) =>
      answerOf(
        api.projects[":id"]["host-hook"].$post({
          param,
          json: { tokenId, deployKey: mayMakeKey && wantsKey },
        }),
      ),
    { done: t("hostHook.created"), failed: t("hostHook.notCreated"), refresh: touched },
  );
  const check = useAct(() => answerOf(api.projects[":id"]["host-hook"].check.$post({ param })), {
    refresh: ["host-hook"],
  });
  const forget = useAct((id: number) => answerOf(api["host-tokens"][":id"].$delete({ param: { id } })), {
    done: t("hostHook.forgotten"),
    refresh: touched,
  });
  return (
    <>
      {mayMakeKey && (
        <Checkbox
          mb="sm"
          label={t("hostHook.deployKey")}
          checked={wantsKey}
          onChange={(event) => setWantsKey(event.currentTarget.checked)}
        />
      )}
      <Group gap="sm">
        {own === undefined ? (
          <TokenForm kind={kind} origin={origin} onSaved={(id) => connect.mutateAsync(id)} />
        ) : (
          <>
            <Button
              variant={hook === null || hook.state !== "ok" ? "filled" : "default"}
              loading={connect.isPending}
              onClick={() => connect.mutate(own.id)}
            >
              {hook === null ? t("hostHook.create") : t("hostHook.repair")}
            </Button>
            {hook !== null && (
              <Button variant="default" loading={check.isPending} onClick={() => check.mutate(undefined)}>
                {t("hostHook.check")}
              </Button>
            )}
            <ConfirmButton
              label={t("hostHook.forget")}
              title={t("hostHook.forgetQuestion", { origin: own.origin })}
              confirm={t("hostHook.forget")}
              isDanger
              onConfirm={() => forget.mutateAsync(own.id)}
            >
              {t("hostHook.forgetHint")}
            </ConfirmButton>
          </>
        )}
      </Group>
    </>
  );
}

function TokenForm({
  kind,
  origin,
  onSaved,
}: {
  kind: Kind;
  origin: string;
  onSaved: (tokenId: number) => Promise<unknown>;
}) {
  return (
    <FormButton
      title={t("hostHook.withToken")}
      submit={t("hostHook.create")}
      button={{ variant: "default" }}
      initial={{ url: origin, token: "" }}
      onSubmit={async ({ url, token }) => {
        const saved = await answerOf(api["host-tokens"].$post({ json: { kind, url, token } }));
        await onSaved(saved.id);
      }}
    >
      {({ text }) => (
        <>
          <Text size="sm">{t(`hostHook.scope_${kind}`)}</Text>
          <TextInput label={t("hostHook.url")} required {...text("url")} />
          <PasswordInput
            label={t("hostHook.token")}
            description={t("hostHook.tokenHint")}
            required
            autoComplete="off"
            data-autofocus
            {...text("token")}
          />
        </>
      )}
    </FormButton>
  );
}
