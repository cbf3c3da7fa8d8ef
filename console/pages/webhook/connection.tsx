import { Alert, Button, Group, Switch, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { CopyText } from "../../components/copy-text.tsx";
import { Moment } from "../../components/moment.tsx";
import { Notice } from "../../components/notice.tsx";
import { Panel, Problem, Rows } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { Loaded } from "../../components/query.tsx";
import { hostName } from "../../git-hosts.ts";
import type { DeliverySummary, Project, Webhook } from "../../shapes.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { useSaveWebhook, webhookQuery } from "../../webhook-query.ts";
import { HostHookPanel } from "../set-up/host-hook.tsx";
import { isLocalUrl } from "../set-up/host-pages.ts";
import { ArrivalState, useArrival } from "./arrival.tsx";
import { HostPanel } from "./host.tsx";
import { safeStart } from "./safe-start.ts";
import { SecretPanel } from "./secret.tsx";

/** Panels of the connection that an address may name. */
const anchors = ["#address", "#host", "#secret"];

/** Shows its content when the webhook is loaded, and whether deliveries arrive. */
export function LoadedWebhook({
  projectId,
  children,
}: {
  projectId: number;
  children: (webhook: Webhook, arrival: DeliverySummary | null) => ReactNode;
}) {
  const webhook = useQuery(webhookQuery(projectId));
  const arrival = useArrival(projectId);
  return (
    <Loaded query={webhook}>
      {(loaded) => (arrival === undefined ? <Rows /> : children(loaded, arrival))}
    </Loaded>
  );
}

/** How pushes arrive: one line once they do, and before that everything that is needed for it. */
export function Connection({
  project,
  webhook,
  arrival,
}: {
  project: Project;
  webhook: Webhook;
  arrival: DeliverySummary | null;
}) {
  const isUnsigned = webhook.enabled && !webhook.secretSet;
  // Decided once: nothing folds while somebody fills it in.
  const [isOpen, setOpen] = useState(() => arrival === null || isUnsigned || anchors.includes(location.hash));
  return (
    <>
      {isUnsigned && (
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
      <AddressPanel project={project} webhook={webhook} arrival={arrival} isOpen={isOpen} onOpen={setOpen} />
      {/* What was typed stays when the panels are folded. */}
      <div className="stack" id="connection-panels" hidden={!isOpen}>
        <HostHookPanel project={project} webhook={webhook} />
        <HostPanel webhook={webhook} />
        <SecretPanel projectId={project.id} webhook={webhook} />
      </div>
    </>
  );
}

/** The line, and in full also the address. */
function AddressPanel({
  project,
  webhook,
  arrival,
  isOpen,
  onOpen,
}: {
  project: Project;
  webhook: Webhook;
  arrival: DeliverySummary | null;
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
}) {
  const save = useSaveWebhook(project.id);
  const { url, enabled, poll } = webhook;
  return (
    <Panel id="address">
      <div className="connection-line">
        <div>
          {enabled ? (
            <ArrivalState delivery={arrival} />
          ) : (
            <Text size="sm" c="dimmed">
              {t(url === null ? "webhook.enableHint" : "webhook.disabledHint")}
            </Text>
          )}
        </div>
        <Group gap="md">
          <Text size="sm" c="dimmed">
            {t(webhook.secretSet ? "webhook.connectionSigned" : "webhook.connectionOpen", {
              host: hostName(webhook.provider),
            })}
          </Text>
          <Switch
            label={enabled ? t("webhook.enabled") : t("webhook.disabled")}
            aria-label={t("webhook.enable")}
            checked={enabled}
            {...(save.isPending ? { disabled: true } : {})}
            onChange={(event) => {
              const chosen = event.currentTarget.checked;
              save.mutate({
                json: chosen && url === null ? safeStart(project, webhook) : { enabled: chosen },
              });
            }}
          />
          <Button
            variant="default"
            aria-expanded={isOpen}
            aria-controls="connection-panels"
            onClick={() => onOpen(!isOpen)}
          >
            {t(isOpen ? "webhook.foldConnection" : "webhook.showConnection")}
          </Button>
        </Group>
      </div>
      {isOpen && url !== null && (
        <div className="address">
          <CopyText value={url} label={t("webhook.addressLabel")} />
          <ForManagers>
            <ResetKey projectId={project.id} />
          </ForManagers>
        </div>
      )}
      {isOpen && url !== null && !webhook.baseUrlConfigured && !isLocalUrl(project.git.url) && (
        <Notice title={t("webhook.localOnly")}>
          {rich("webhook.localOnlyHint", { setting: <code>server.baseUrl</code> })}
        </Notice>
      )}
      {poll !== null && <PollState poll={poll} isOpen={isOpen} />}
    </Panel>
  );
}

/** Pushes that the host could not report are found by a poll of the repository. Its faults are never folded. */
function PollState({ poll, isOpen }: { poll: NonNullable<Webhook["poll"]>; isOpen: boolean }) {
  return (
    <>
      {isOpen && (
        <Text size="sm" c="dimmed" mt="md">
          {rich("webhook.polled", {
            minutes: poll.everyMinutes,
            last: poll.lastAt === null ? t("webhook.notYet") : <Moment at={poll.lastAt} />,
            next: poll.nextAt === null ? t("webhook.notYet") : <Moment at={poll.nextAt} />,
          })}
        </Text>
      )}
      {poll.error !== "" && (
        <Problem title={t("webhook.pollFailed")} problem={reasonIn(poll.error, poll.errorParts)} />
      )}
      {poll.note !== "" && (
        <Notice title={t("webhook.pollNote")}>{reasonIn(poll.note, poll.noteParts)}</Notice>
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
