import { Anchor, Button, Group, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { CopyBlock, CopyText } from "../../components/copy-text.tsx";
import { PageHead, Panel, Problem, Rows } from "../../components/page.tsx";
import { ForManagers, Permitted } from "../../components/permission.tsx";
import { Loaded, LoadedPage } from "../../components/query.tsx";
import { hostChoices, hostName, isHostKind, isHostName } from "../../git-hosts.ts";
import { hostHookQuery } from "../../host-hook-query.ts";
import { useLiveProjects, usePolling } from "../../live.ts";
import { projectQuery } from "../../project-query.ts";
import type { Project, Webhook } from "../../shapes.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { useSaveWebhook, webhookQuery } from "../../webhook-query.ts";
import { HostSteps } from "../webhook/host-steps.tsx";
import { postReceiveHook } from "../webhook/post-receive.ts";
import { safeStart } from "../webhook/safe-start.ts";
import { formatFor } from "../webhook/secret-format.ts";
import { sendCommand } from "../webhook/send-command.ts";
import { FirstPush } from "./first-push.tsx";
import { HostHook } from "./host-hook.tsx";
import { isLocalUrl, webhookPageOf } from "./host-pages.ts";

/** The second page of the guided set-up: connects the Git host and waits for the first push. */
export default function Connect({ id }: { id: number }) {
  useLiveProjects([id]);
  const refetchInterval = usePolling();
  const project = useQuery({ ...projectQuery(id), refetchInterval });
  const webhook = useQuery(webhookQuery(id));
  return (
    <LoadedPage
      query={project}
      title={t("setUp.connect")}
      list={{ href: `/projects/${id}`, label: t("setUp.later") }}
    >
      {(loaded) => (
        <Permitted permission={loaded.permission}>
          <PageHead title={t("setUp.connect")} project={loaded} />
          <ForManagers>
            <Loaded query={webhook}>{(hook) => <Steps project={loaded} webhook={hook} />}</Loaded>
          </ForManagers>
        </Permitted>
      )}
    </LoadedPage>
  );
}

function Steps({ project, webhook }: { project: Project; webhook: Webhook }) {
  const [search] = useSearchParams();
  const asked = search.get("host");
  const hook = useQuery(hostHookQuery(project.id)).data?.hook;
  const save = useSaveWebhook(project.id, null);
  const [secret, setSecret] = useState<string | null>(null);
  const prepare = useAct(async () => {
    const provider = webhook.url === null && isHostName(asked) ? asked : webhook.provider;
    const format = formatFor({ ...webhook, provider });
    const param = { id: project.id };
    const made = await answerOf(
      api.projects[":id"].webhook["generate-secret"].$post({ param, query: { format } }),
    );
    const start = webhook.enabled ? {} : safeStart(project, webhook);
    await save.mutateAsync({ json: { ...start, provider, secret: made.secret } });
    setSecret(made.secret);
  }, {});
  const isPrepared = webhook.enabled && webhook.secretSet;
  const hasBegun = useRef(false);
  useEffect(() => {
    if (isPrepared || hasBegun.current) return;
    hasBegun.current = true;
    // The error is shown below.
    prepare.mutateAsync(undefined).catch(() => {});
  });
  const byHand = (
    <ByHand
      project={project}
      webhook={webhook}
      secret={secret}
      isPreparing={prepare.isPending}
      onNewSecret={isPrepared || prepare.isError ? () => prepare.mutate(undefined) : null}
    />
  );
  return (
    <div className="stack">
      <Panel
        title={t("setUp.webhook")}
        about={t("setUp.connectAbout")}
        action={
          hook === null && (
            <Select
              aria-label={t("setUp.host")}
              w={300}
              maxDropdownHeight={420}
              data={hostChoices()}
              searchable
              allowDeselect={false}
              value={webhook.provider}
              onChange={(name) => isHostName(name) && save.mutate({ json: { provider: name } })}
            />
          )
        }
      >
        {prepare.isError && <Problem title={t("setUp.prepareFailed")} problem={prepare.error} />}
        {hook === undefined || (!isPrepared && !prepare.isError) ? (
          <Rows count={6} />
        ) : hook !== null || (isHostKind(webhook.provider) && webhook.baseUrlConfigured) ? (
          <>
            <HostHook
              project={project}
              webhook={webhook}
              hook={hook}
              isWanted={search.get("create") !== null}
            />
            {hook === null && (
              <details className="by-hand">
                <summary>{t("setUp.byHand", { host: hostName(webhook.provider) })}</summary>
                {byHand}
              </details>
            )}
          </>
        ) : (
          byHand
        )}
      </Panel>
      <FirstPush project={project} />
    </div>
  );
}

/** What the user enters at the host, and where. */
function ByHand({
  project,
  webhook,
  secret,
  isPreparing,
  onNewSecret,
}: {
  project: Project;
  webhook: Webhook;
  /** Null: an earlier visit of the page showed it. */
  secret: string | null;
  isPreparing: boolean;
  onNewSecret: (() => void) | null;
}) {
  const page = webhookPageOf(webhook.provider, project.git.url);
  return (
    <div className="form wide-form">
      {webhook.url !== null && (
        <div>
          <Text size="sm" fw={600} mb={4}>
            {t("setUp.address")}
          </Text>
          <CopyText value={webhook.url} label={t("webhook.addressLabel")} />
          {!webhook.baseUrlConfigured && !isLocalUrl(project.git.url) && (
            <Text size="sm" className="note" mt="sm">
              {rich("webhook.localOnlyHint", { setting: <code>server.baseUrl</code> })}
            </Text>
          )}
        </div>
      )}
      <div>
        <Text size="sm" fw={600} mb={4}>
          {t("setUp.secret")}
        </Text>
        {secret !== null ? (
          <>
            <CopyText value={secret} label={t("webhook.secretLabel")} />
            <Text size="sm" c="dimmed" mt={4}>
              {t("setUp.secretOnce")}
            </Text>
          </>
        ) : (
          <Group gap="sm">
            <Text size="sm" c="dimmed">
              {t("setUp.secretStored")}
            </Text>
            {onNewSecret !== null && (
              <Button size="compact-sm" variant="default" loading={isPreparing} onClick={onNewSecret}>
                {t("setUp.newSecret")}
              </Button>
            )}
          </Group>
        )}
      </div>
      <HostSteps provider={webhook.provider}>
        {page !== null && (
          <Anchor size="sm" href={page} target="_blank" rel="noreferrer">
            {t("setUp.openHost", { host: hostName(webhook.provider) })}
          </Anchor>
        )}
      </HostSteps>
      {webhook.provider === "generic" && webhook.url !== null && (
        <>
          <CopyBlock
            title={t("webhook.postReceive")}
            value={postReceiveHook(webhook.url, webhook, secret)}
            label={t("webhook.theHook")}
          />
          <CopyBlock
            title={t("webhook.fromShell")}
            value={sendCommand(webhook.url, webhook, secret)}
            label={t("webhook.theCommand")}
          />
        </>
      )}
    </div>
  );
}
