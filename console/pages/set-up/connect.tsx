import { Button, Group, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { CopyText } from "../../components/copy-text.tsx";
import { PageHead, Panel, Problem } from "../../components/page.tsx";
import { ForManagers, Permitted } from "../../components/permission.tsx";
import { Loaded, LoadedPage } from "../../components/query.tsx";
import { useLiveProjects, usePolling } from "../../live.ts";
import { projectQuery } from "../../project-query.ts";
import type { Project, Webhook } from "../../shapes.ts";
import { useRunProject } from "../../task-query.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { shortRef } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import { useSaveWebhook, webhookQuery } from "../../webhook-query.ts";
import { Arrival } from "../webhook/arrival.tsx";
import { HostSteps } from "../webhook/host-steps.tsx";
import { hostChoices, hosts, isHostName } from "../webhook/hosts.ts";
import { safeStart } from "../webhook/safe-start.ts";
import { formatFor } from "../webhook/secret-format.ts";
import { HostHookPanel } from "./host-hook.tsx";

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
          <PageHead
            title={t("setUp.connect")}
            about={<span className="foreign">{visible(loaded.name)}</span>}
          />
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
  const save = useSaveWebhook(project.id);
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
  const host = hosts()[webhook.provider];
  return (
    <div className="stack">
      <HostHookPanel project={project} webhook={webhook} />
      <Panel
        title={t("setUp.webhookAt", { host: host.name })}
        about={t("setUp.connectAbout")}
        action={
          <Select
            aria-label={t("setUp.host")}
            w={210}
            data={hostChoices()}
            searchable
            allowDeselect={false}
            value={webhook.provider}
            onChange={(name) => isHostName(name) && save.mutate({ json: { provider: name } })}
          />
        }
      >
        {prepare.isError && <Problem title={t("setUp.prepareFailed")} problem={prepare.error} />}
        <div className="form wide-form">
          {webhook.url !== null && (
            <div>
              <Text size="sm" fw={600} mb={4}>
                {t("setUp.address")}
              </Text>
              <CopyText value={webhook.url} label={t("webhook.addressLabel")} />
              {!webhook.baseUrlConfigured && (
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
                  {isPrepared ? t("setUp.secretStored") : "\u00a0"}
                </Text>
                <Button
                  size="compact-sm"
                  variant="default"
                  loading={prepare.isPending}
                  onClick={() => prepare.mutate(undefined)}
                >
                  {t("setUp.newSecret")}
                </Button>
              </Group>
            )}
          </div>
          <HostSteps host={host} />
        </div>
      </Panel>
      <Panel title={t("setUp.waiting")}>
        <Arrival projectId={project.id} />
        <Group mt="lg" gap="sm">
          <DeployNow project={project} />
          <Link href={`/projects/${project.id}`}>{t("setUp.later")}</Link>
        </Group>
      </Panel>
    </div>
  );
}

function DeployNow({ project }: { project: Project }) {
  const run = useRunProject(project.id);
  return (
    <ConfirmButton
      label={t("setUp.deployNow")}
      title={t("form.deployQuestion", { project: project.name })}
      confirm={t("form.deployConfirm")}
      onConfirm={() => run.mutateAsync({})}
    >
      {t("form.deployHint", { ref: visible(shortRef(project.git.ref)) })}
    </ConfirmButton>
  );
}
