import { Alert, Switch, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { CopyText } from "../../components/copy-text.tsx";
import { Moment } from "../../components/moment.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { Loaded } from "../../components/query.tsx";
import type { Project, Webhook } from "../../shapes.ts";
import { useSaveWebhook, type WebhookChange, webhookQuery } from "../../webhook-query.ts";
import { buildOnly } from "./actions.tsx";
import { Arrival } from "./arrival.tsx";
import { HostPanel } from "./host.tsx";
import { RulesPanel } from "./rules.tsx";
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
              title="Anybody can start a deploy"
              className="red-warning"
              role="alert"
            >
              The webhook is enabled without a secret: whoever knows its address can trigger builds. Generate
              a secret below, give it to your Git host, and save it here.
            </Alert>
          )}
          <Warnings texts={loaded.warnings} />
          <AddressPanel project={project} webhook={loaded} />
          <HostPanel webhook={loaded} />
          <SecretPanel projectId={project.id} webhook={loaded} />
          <RulesPanel projectId={project.id} webhook={loaded} />
          <ForManagers>
            <TestPanel projectId={project.id} defaultRef={project.git.ref} />
          </ForManagers>
        </div>
      )}
    </Loaded>
  );
}

/** The texts that no panel below shows by itself. */
function Warnings({ texts }: { texts: string[] }) {
  const shown = texts.filter(
    (text) => !/^(The webhook is enabled without a secret|server\.baseUrl)/.test(text),
  );
  if (shown.length === 0) return null;
  return (
    <Alert color="lamp" variant="light" role="note" aria-label="Warnings" title="Worth a look">
      <ul className="plain-list">
        {shown.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Alert>
  );
}

/**
 * What a new webhook starts with, as far as nothing else was chosen: the project's branch, a window for each branch, and
 * merge requests that are built only.
 */
function safeStart({ git }: Project, webhook: Webhook): WebhookChange {
  const isTag = git.ref.startsWith("refs/tags/");
  return {
    enabled: true,
    ...(webhook.branchFilter.length === 0 && !isTag
      ? { branchFilter: [git.ref.replace(/^refs\/heads\//, "")] }
      : {}),
    ...(webhook.mergeRequestActions === null ? { mergeRequestActions: buildOnly } : {}),
    debounceScope: "ref",
  };
}

function AddressPanel({ project, webhook }: { project: Project; webhook: Webhook }) {
  const projectId = project.id;
  const save = useSaveWebhook(projectId);
  return (
    <Panel
      title="Address"
      about="Where your Git host delivers pushes."
      action={
        <Switch
          label={webhook.enabled ? "Enabled" : "Disabled"}
          aria-label="Enable the webhook"
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
          Enable the webhook to get its address. It holds a random key, so that nobody can guess it.
        </Text>
      ) : (
        <div className="address">
          <CopyText value={webhook.url} label="the address" />
          <ForManagers>
            <ResetKey projectId={projectId} />
          </ForManagers>
        </div>
      )}
      {webhook.url !== null && !webhook.baseUrlConfigured && (
        <Alert color="lamp" variant="light" mt="md" title="This address is reachable from this machine only">
          It is inferred from the listen address. Set <code>server.baseUrl</code> (without a trailing /) to
          the address under which your Git host reaches this server, and restart.
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
        The repository is asked for missed pushes every {poll.everyMinutes} minutes; last:{" "}
        {poll.lastAt === null ? "not yet" : <Moment at={poll.lastAt} />}
        {poll.nextAt !== null && (
          <>
            , next: <Moment at={poll.nextAt} />
          </>
        )}
        .
      </Text>
      {poll.error !== "" && (
        <Alert color="red" variant="light" mt="md" title="The repository could not be polled" role="alert">
          {poll.error}
        </Alert>
      )}
      {poll.note !== "" && (
        <Alert color="lamp" variant="light" mt="md" title="The last poll left something out">
          {poll.note}
        </Alert>
      )}
    </>
  );
}

function ResetKey({ projectId }: { projectId: number }) {
  const reset = useAct(
    () => answerOf(api.projects[":id"].webhook["reset-key"].$post({ param: { id: projectId } })),
    { done: "The address is new; the old one answers 404 from now on.", refresh: ["webhook"] },
  );
  return (
    <ConfirmButton
      label="Reset the key"
      title="Reset the key?"
      confirm="Reset the key"
      isDanger
      onConfirm={() => reset.mutateAsync(undefined)}
    >
      The address above stops working at once. Deploys stand still until your Git host has the new one.
    </ConfirmButton>
  );
}
