import { Alert, Button, Checkbox, Group, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { useEffect, useRef, useState } from "react";
import type { HostKind } from "../../../src/git-host/hosts.ts";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { FormButton } from "../../components/form-modal.tsx";
import { Moment } from "../../components/moment.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { isHostKind } from "../../git-hosts.ts";
import { hostHookQuery } from "../../host-hook-query.ts";
import { hostTokensQuery } from "../../host-token-query.ts";
import type { Project, Webhook } from "../../shapes.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { safeStart } from "../webhook/safe-start.ts";
import { isSshUrl, originOf, repositoryPathOf, tokenPageOf } from "./host-pages.ts";
import { HostTokenField } from "./host-token-field.tsx";

export type Hook = NonNullable<
  InferResponseType<(typeof api.projects)[":id"]["host-hook"]["$get"], 200>["hook"]
>;

const touched = ["host-hook", "host-tokens", "webhook", "project", "unsigned-webhooks"];

/** The webhook that Slipway creates, checks and repairs at the Git host. Null where the host has no known API. */
export function HostHookPanel({ project, webhook }: { project: Project; webhook: Webhook }) {
  const hook = useQuery(hostHookQuery(project.id)).data?.hook;
  if (hook === undefined || (hook === null && !isHostKind(webhook.provider))) return null;
  return (
    <Panel
      title={hook === null ? t("hostHook.title") : t("hostHook.existing")}
      about={hook === null ? t("hostHook.about") : undefined}
    >
      <HostHook project={project} webhook={webhook} hook={hook} />
    </Panel>
  );
}

/** Its state and what can be done about it. `isWanted`: it is created at once if a token is stored. */
export function HostHook({
  project,
  webhook,
  hook,
  isWanted = false,
}: {
  project: Project;
  webhook: Webhook;
  hook: Hook | null;
  isWanted?: boolean;
}) {
  if (hook === null && !webhook.baseUrlConfigured)
    return (
      <Text size="sm" c="dimmed">
        {rich("hostHook.needsBaseUrl", {
          setting: <code>server.baseUrl</code>,
          file: <code>slipway.yaml</code>,
        })}
      </Text>
    );
  const kind = hook?.kind ?? (isHostKind(webhook.provider) ? webhook.provider : null);
  return (
    <>
      {hook !== null && <HookState hook={hook} />}
      <ForManagers>
        {kind !== null && (
          <Connect project={project} webhook={webhook} hook={hook} kind={kind} isWanted={isWanted} />
        )}
      </ForManagers>
    </>
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
      color={hook.state === "ok" ? "tide" : "lamp"}
      variant="light"
      role="status"
      title={titles[hook.state]}
      mb="md"
    >
      <div className="foreign">
        {visible(`${hook.origin}/${hook.path}`)} {reasonIn(hook.note, hook.noteParts)}
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

function Connect({
  project,
  webhook,
  hook,
  kind,
  isWanted,
}: {
  project: Project;
  webhook: Webhook;
  hook: Hook | null;
  kind: HostKind;
  isWanted: boolean;
}) {
  const tokens = useQuery(hostTokensQuery);
  const origin = hook?.origin ?? originOf(project.git.url);
  const host = URL.canParse(origin) ? new URL(origin).hostname : "";
  const own = tokens.data?.items.find(
    (token) => token.kind === kind && (token.origin === origin || new URL(token.origin).hostname === host),
  );
  const path = repositoryPathOf(project.git.url);
  const isMoved = hook !== null && path !== "" && hook.path !== path;
  const mayMakeKey = isSshUrl(project.git.url) && !(hook?.hasDeployKey ?? false);
  const [wantsKey, setWantsKey] = useState(true);
  const [wantsStatus, setWantsStatus] = useState(true);
  const param = { id: project.id };
  const connect = useAct(
    async (tokenId: number) => {
      // Creating it at the host enables a new webhook.
      const { enabled: _, ...start } = safeStart(project, webhook);
      if (webhook.url === null)
        await answerOf(api.projects[":id"].webhook.$put({ param, header: {}, json: start }));
      return answerOf(
        api.projects[":id"]["host-hook"].$post({
          param,
          json: {
            ...{ tokenId, deployKey: mayMakeKey && wantsKey, commitStatus: wantsStatus },
            ...(path === "" ? {} : { path }),
          },
        }),
      );
    },
    { done: t("hostHook.created"), failed: t("hostHook.notCreated"), refresh: touched },
  );
  const check = useAct(() => answerOf(api.projects[":id"]["host-hook"].check.$post({ param })), {
    refresh: ["host-hook"],
  });
  const forgetHook = useAct(
    () => answerOf(api.projects[":id"]["host-hook"].$delete({ param, query: { keep: "true" } })),
    { done: t("hostHook.hookForgotten"), refresh: touched },
  );
  const forget = useAct((id: number) => answerOf(api["host-tokens"][":id"].$delete({ param: { id } })), {
    done: t("hostHook.forgotten"),
    refresh: touched,
  });
  const hasBegun = useRef(false);
  useEffect(() => {
    if (!isWanted || hook !== null || own === undefined || hasBegun.current) return;
    hasBegun.current = true;
    connect.mutate(own.id);
  });
  return (
    <>
      {isMoved && (
        <Text size="sm" mb="sm">
          {visible(t("hostHook.moved", { path }))}
        </Text>
      )}
      {hook !== null && own === undefined && tokens.data !== undefined && (
        <Text size="sm" mb="sm">
          {visible(t("hostHook.othersToken", { origin }))}
        </Text>
      )}
      {mayMakeKey && (
        <Checkbox
          mb="sm"
          label={t("hostHook.deployKey")}
          checked={wantsKey}
          onChange={(event) => setWantsKey(event.currentTarget.checked)}
        />
      )}
      <Checkbox
        mb="sm"
        label={t("hostHook.commitStatus")}
        checked={wantsStatus}
        onChange={(event) => setWantsStatus(event.currentTarget.checked)}
      />
      <Group gap="sm">
        {hook !== null && hook.state !== "ok" && (
          <ConfirmButton
            label={t("hostHook.forgetHook")}
            title={t("hostHook.forgetHookQuestion")}
            confirm={t("hostHook.forgetHook")}
            isDanger
            variant="subtle"
            onConfirm={() => forgetHook.mutateAsync(undefined)}
          >
            {visible(t("hostHook.forgetHookHint", { origin: hook.origin }))}
          </ConfirmButton>
        )}
        {own === undefined ? (
          <TokenForm
            kind={kind}
            origin={origin}
            isMain={hook === null}
            onSaved={(id) => connect.mutateAsync(id)}
          />
        ) : (
          <>
            {(hook?.state !== "ok" || isMoved || !hook.isChecked) && (
              <Button loading={connect.isPending} onClick={() => connect.mutate(own.id)}>
                {isMoved
                  ? visible(t("hostHook.createIn", { path }))
                  : hook === null
                    ? t("hostHook.create")
                    : t(hook.state === "ok" ? "hostHook.resume" : "hostHook.repair")}
              </Button>
            )}
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
              variant="subtle"
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
  isMain,
  onSaved,
}: {
  kind: HostKind;
  origin: string;
  /** The next thing to do on the page. */
  isMain: boolean;
  onSaved: (tokenId: number) => Promise<unknown>;
}) {
  const page = tokenPageOf(kind, origin, "manage");
  return (
    <FormButton
      title={t("hostHook.withToken")}
      submit={t("hostHook.create")}
      button={{ variant: isMain ? "filled" : "default" }}
      initial={{ url: origin, token: "" }}
      onSubmit={async ({ url, token }) => {
        const saved = await answerOf(api["host-tokens"].$post({ json: { kind, url, token } }));
        await onSaved(saved.id);
      }}
    >
      {({ text }) => (
        <>
          <TextInput label={t("hostHook.url")} required {...text("url")} />
          <HostTokenField kind={kind} page={page} field={text("token")} />
        </>
      )}
    </FormButton>
  );
}
