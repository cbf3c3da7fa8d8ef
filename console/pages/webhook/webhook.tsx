import { Alert, Switch, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { CopyText } from "../../components/copy-text.tsx";
import { Moment } from "../../components/moment.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { Loaded } from "../../components/query.tsx";
import type { Project, Webhook } from "../../shapes.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { warningPlace } from "../../warning-place.ts";
import { useRulesDraft, useSaveWebhook, webhookQuery } from "../../webhook-query.ts";
import { HostHookPanel } from "../set-up/host-hook.tsx";
import { isLocalUrl } from "../set-up/host-pages.ts";
import { Arrival } from "./arrival.tsx";
import { HostPanel } from "./host.tsx";
import { RulesPanel } from "./rules.tsx";
import { safeStart } from "./safe-start.ts";
import { SecretPanel } from "./secret.tsx";
import { TestPanel } from "./test.tsx";

export function WebhookPage({ project }: { project: Project }) {
  const webhook = useQuery(webhookQuery(project.id));
  return (
    <Loaded query={webhook}>
      {(loaded) => (
        <div className="stack">
          {loaded.enabled && !loaded.secretSet && (
            <Alert
              color="red"
              variant="filled"
              title={t("webhook.openTitle")}
              className="red-warning"
              role="alert"
            >
              {t("webhook.openHint")}
            </Alert>
          )}
          <nav className="webhook-parts" aria-label={t("webhook.parts")}>
            <a href="#address">{t("webhook.partConnection")}</a>
            <a href="#rules">{t("webhook.partRules")}</a>
            <a href="#test">{t("webhook.partTest")}</a>
          </nav>
          <Warnings webhook={loaded} />
          <AddressPanel project={project} webhook={loaded} />
          <HostHookPanel project={project} webhook={loaded} />
          <HostPanel webhook={loaded} />
          <SecretPanel projectId={project.id} webhook={loaded} />
          <Rules project={project} webhook={loaded} />
        </div>
      )}
    </Loaded>
  );
}

/** The rules, and a test of them as they are on the screen. */
function Rules({ project, webhook }: { project: Project; webhook: Webhook }) {
  const draft = useRulesDraft(webhook);
  return (
    <>
      <RulesPanel webhook={webhook} draft={draft} />
      <ForManagers>
        <TestPanel projectId={project.id} defaultRef={project.git.ref} draft={draft} />
      </ForManagers>
    </>
  );
}

/** The texts that no panel below shows by itself. */
function Warnings({ webhook: { projectId, warnings, warningParts } }: { webhook: Webhook }) {
  const shown = warnings.flatMap((text, index) => {
    const parts = warningParts[index] ?? [];
    const isShownBelow = parts.some(({ code }) => code === "warn_no_secret" || code === "warn_no_base_url");
    return isShownBelow ? [] : [{ text: reasonIn(text, parts), place: warningPlace(parts) }];
  });
  if (shown.length === 0) return null;
  return (
    <Alert
      color="lamp"
      variant="light"
      role="note"
      aria-label={t("webhook.warnings")}
      title={t("webhook.warningsTitle")}
    >
      <ul className="plain-list">
        {shown.map(({ text, place }) => (
          <li key={text}>
            {text}{" "}
            {place.page === "webhook" ? (
              <a href={`#${place.path.split("#")[1]}`}>{t("webhook.toForm")}</a>
            ) : (
              <Link href={`/projects/${projectId}/${place.path}`}>{t("project.toSettings")}</Link>
            )}
          </li>
        ))}
      </ul>
    </Alert>
  );
}

function AddressPanel({ project, webhook }: { project: Project; webhook: Webhook }) {
  const projectId = project.id;
  const save = useSaveWebhook(projectId);
  return (
    <Panel
      id="address"
      title={t("webhook.address")}
      about={t("webhook.addressAbout")}
      action={
        <Switch
          label={webhook.enabled ? t("webhook.enabled") : t("webhook.disabled")}
          aria-label={t("webhook.enable")}
          checked={webhook.enabled}
          {...(save.isPending ? { disabled: true } : {})}
          onChange={(event) => {
            const enabled = event.currentTarget.checked;
            save.mutate({
              json: enabled && webhook.url === null ? safeStart(project, webhook) : { enabled },
            });
          }}
        />
      }
    >
      {webhook.url === null ? (
        <Text size="sm" c="dimmed">
          {t("webhook.enableHint")}
        </Text>
      ) : (
        <div className="address">
          <CopyText value={webhook.url} label={t("webhook.addressLabel")} />
          <ForManagers>
            <ResetKey projectId={projectId} />
          </ForManagers>
        </div>
      )}
      {webhook.url !== null && !webhook.baseUrlConfigured && !isLocalUrl(project.git.url) && (
        <Alert color="lamp" variant="light" mt="md" title={t("webhook.localOnly")}>
          {rich("webhook.localOnlyHint", { setting: <code>server.baseUrl</code> })}
        </Alert>
      )}
      {webhook.enabled && <Arrival projectId={projectId} />}
      {webhook.poll !== null && <PollState poll={webhook.poll} />}
    </Panel>
  );
}

/** Pushes that the host could not report are found by a poll of the repository. */
function PollState({ poll }: { poll: NonNullable<Webhook["poll"]> }) {
  return (
    <>
      <Text size="sm" c="dimmed" mt="md">
        {rich("webhook.polled", {
          minutes: poll.everyMinutes,
          last: poll.lastAt === null ? t("webhook.notYet") : <Moment at={poll.lastAt} />,
          next: poll.nextAt === null ? t("webhook.notYet") : <Moment at={poll.nextAt} />,
        })}
      </Text>
      {poll.error !== "" && (
        <Alert color="red" variant="light" mt="md" title={t("webhook.pollFailed")} role="alert">
          {reasonIn(poll.error, poll.errorParts)}
        </Alert>
      )}
      {poll.note !== "" && (
        <Alert color="lamp" variant="light" mt="md" title={t("webhook.pollNote")}>
          {reasonIn(poll.note, poll.noteParts)}
        </Alert>
      )}
    </>
  );
}

function ResetKey({ projectId }: { projectId: number }) {
  const reset = useAct(
    () => answerOf(api.projects[":id"].webhook["reset-key"].$post({ param: { id: projectId } })),
    { done: t("webhook.resetKeyDone"), refresh: ["webhook"] },
  );
  return (
    <ConfirmButton
      label={t("webhook.resetKey")}
      title={t("webhook.resetKeyQuestion")}
      confirm={t("webhook.resetKey")}
      isDanger
      onConfirm={() => reset.mutateAsync(undefined)}
    >
      {t("webhook.resetKeyHint")}
    </ConfirmButton>
  );
}
