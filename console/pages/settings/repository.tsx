import {
  Button,
  Checkbox,
  Group,
  PasswordInput,
  SegmentedControl,
  Select,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { FormButton } from "../../components/form-modal.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { SaveBar } from "../../components/save-bar.tsx";
import { groupChoices, useGroups } from "../../group-query.ts";
import { useProjectDraft } from "../../project-query.ts";
import { meQuery } from "../../session.ts";
import type { Project } from "../../shapes.ts";

const supersedeChoices = [
  { value: "none", label: "no older task" },
  { value: "queued", label: "older tasks that still wait" },
  { value: "running", label: "older tasks, running ones too" },
];

function repositoryOf({ name, groupId, git, supersede, labels }: Project) {
  const { url, ref, submodules } = git;
  return { name, groupId, url, ref, submodules, supersede, labels };
}

export function RepositorySettings({ project }: { project: Project }) {
  const draft = useProjectDraft(project, repositoryOf, ({ url, ref, submodules, ...rest }) => {
    const isGitChanged = [url, ref, submodules].some((change) => change !== undefined);
    return { ...rest, ...(isGitChanged ? { git: { url, ref, submodules } } : {}) };
  });
  const { value, set, text, refused } = draft;
  return (
    <Panel title="Repository" about="What is cloned, and from where.">
      <form className="form" onSubmit={draft.submit}>
        <TextInput label="Name" required {...text("name")} />
        <TextInput
          label="Clone address"
          required
          classNames={{ input: "mono" }}
          {...text("url", "git.url")}
        />
        <TextInput
          label="Branch or tag"
          description="What a run by hand builds, and a webhook that builds the project's own branch."
          {...text("ref", "git.ref")}
        />
        <Checkbox label="Clone submodules too" {...draft.flag("submodules")} />
        <Select
          label="A new task cancels"
          description="Of the same branch or tag."
          data={supersedeChoices}
          allowDeselect={false}
          value={value.supersede}
          onChange={(chosen) =>
            set({ supersede: chosen === "queued" || chosen === "running" ? chosen : "none" })
          }
        />
        <GroupField
          stored={project.groupId}
          value={value.groupId}
          onChange={(chosen) => set({ groupId: chosen })}
        />
        <TagsInput
          label="Runner labels"
          description="Only runners that have all of them take its tasks. Press Enter after each. Empty: any runner."
          value={value.labels}
          error={refused?.fields.find((fault) => fault.field.startsWith("labels"))?.message}
          onChange={(chosen) => set({ labels: chosen })}
        />
        <Credential project={project} />
        <SaveBar draft={draft} />
      </form>
    </Panel>
  );
}

/** Offers what the server takes: groups that one manages, and none to admins alone. */
function GroupField({
  stored,
  value,
  onChange,
}: {
  stored: number | null;
  value: number | null;
  onChange: (groupId: number | null) => void;
}) {
  const { data: me } = useQuery(meQuery);
  const groups = useGroups();
  const offered = groups.filter((group) => group.permission === "manage" || group.id === stored);
  const isUnknown = stored !== null && !offered.some((group) => group.id === stored);
  return (
    <Select
      label="Group"
      placeholder="none"
      clearable={me?.role === "admin"}
      allowDeselect={false}
      data={groupChoices(isUnknown ? [...offered, { id: stored, name: `Group ${stored}` }] : offered)}
      value={value === null ? null : String(value)}
      onChange={(chosen) => onChange(chosen === null ? null : Number(chosen))}
    />
  );
}

function Credential({ project }: { project: Project }) {
  const param = { id: project.id };
  const forget = useAct(() => answerOf(api.projects[":id"].credential.$delete({ param })), {
    done: "The credential is forgotten.",
    refresh: ["project"],
  });
  return (
    <div>
      <Text size="sm" fw={600}>
        Credential
      </Text>
      <Text size="sm" c="dimmed" mb={6}>
        {project.git.credentialSet
          ? "One is stored, encrypted. It is never shown."
          : "None is stored: only public repositories can be cloned."}
      </Text>
      <ForManagers>
        <Group gap="xs">
          <CredentialForm
            projectId={project.id}
            label={project.git.credentialSet ? "Replace it" : "Add one"}
          />
          {project.git.credentialSet && (
            <Button
              variant="default"
              size="compact-sm"
              loading={forget.isPending}
              onClick={() => forget.mutate(undefined)}
            >
              Forget it
            </Button>
          )}
        </Group>
      </ForManagers>
    </div>
  );
}

const newCredential = { kind: "token", username: "git", token: "", privateKey: "" };

function CredentialForm({ projectId, label }: { projectId: number; label: string }) {
  const store = useAct(
    ({ kind, username, token, privateKey }: typeof newCredential) =>
      answerOf(
        api.projects[":id"].credential.$put({
          param: { id: projectId },
          json: kind === "ssh" ? { type: "ssh", privateKey } : { type: "token", username, token },
        }),
      ),
    { done: "The credential is stored.", refresh: ["project"] },
  );
  return (
    <FormButton
      label={label}
      title="How the repository is cloned"
      submit="Store the credential"
      button={{ variant: "default", size: "compact-sm" }}
      initial={newCredential}
      onSubmit={(credential) => store.mutateAsync(credential)}
    >
      {({ value, set, text }) => (
        <>
          <SegmentedControl
            aria-label="Kind of credential"
            data={[
              { value: "token", label: "Access token (https)" },
              { value: "ssh", label: "Private key (ssh)" },
            ]}
            value={value.kind}
            onChange={(kind) => set({ kind })}
          />
          {value.kind === "token" ? (
            <>
              <TextInput
                label="Username"
                description="What the host expects beside the token; most take any."
                {...text("username")}
              />
              <PasswordInput label="Token" required autoComplete="off" {...text("token")} />
            </>
          ) : (
            <Textarea
              className="script"
              label="Private key"
              required
              rows={7}
              placeholder="-----BEGIN OPENSSH PRIVATE KEY-----"
              {...text("privateKey")}
            />
          )}
        </>
      )}
    </FormButton>
  );
}
