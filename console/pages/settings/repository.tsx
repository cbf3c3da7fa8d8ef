import { Checkbox, Select, TagsInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { AllowedDomains } from "../../components/allowed-domains.tsx";
import { GroupPicker } from "../../components/group-picker.tsx";
import { Panel } from "../../components/page.tsx";
import { FormFoot } from "../../components/save-bar.tsx";
import { useGroups } from "../../group-query.ts";
import { useProjectDraft } from "../../project-query.ts";
import { meQuery } from "../../session.ts";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { Credential } from "./credential.tsx";

function repositoryOf({ name, groupId, git, publicUrl, supersede, labels, allowedDomains }: Project) {
  const { url, ref, submodules, lfs } = git;
  return { name, groupId, url, ref, submodules, lfs, publicUrl, supersede, labels, allowedDomains };
}

/** Name, group and repository of a project, and which runners it uses. */
export function RepositorySettings({ project }: { project: Project }) {
  const draft = useProjectDraft(project, repositoryOf, ({ url, ref, submodules, lfs, ...rest }) => {
    const isGitChanged = [url, ref, submodules, lfs].some((change) => change !== undefined);
    return { ...rest, ...(isGitChanged ? { git: { url, ref, submodules, lfs } } : {}) };
  });
  const { value, set, text, refused } = draft;
  const { data: me } = useQuery(meQuery);
  return (
    <Panel title={t("settings.general")} about={t("settings.generalAbout")}>
      <form className="form" onSubmit={draft.submit}>
        <TextInput label={t("settings.name")} required {...text("name")} />
        <TextInput
          label={t("settings.cloneUrl")}
          required
          classNames={{ input: "mono" }}
          {...text("url", "git.url")}
        />
        <TextInput
          label={t("settings.ref")}
          description={t("settings.refHint")}
          {...text("ref", "git.ref")}
        />
        <TextInput
          label={t("settings.publicUrl")}
          description={t("settings.publicUrlHint")}
          placeholder="https://shop.example.com"
          {...text("publicUrl")}
        />
        <Checkbox label={t("settings.submodules")} {...draft.flag("submodules")} />
        <Checkbox label={t("settings.lfs")} description={t("settings.lfsHint")} {...draft.flag("lfs")} />
        <Select
          label={t("settings.supersede")}
          description={t("settings.supersedeHint")}
          data={[
            { value: "none", label: t("settings.supersedeNone") },
            { value: "queued", label: t("settings.supersedeQueued") },
            { value: "running", label: t("settings.supersedeRunning") },
          ]}
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
          label={t("settings.labels")}
          description={t("settings.labelsHint")}
          value={value.labels}
          error={refused?.fields.find((fault) => fault.field.startsWith("labels"))?.message}
          onChange={(chosen) => set({ labels: chosen })}
        />
        {me?.role === "admin" && (
          <AllowedDomains
            domains={value.allowedDomains}
            about={t("routes.limitOfProject")}
            errorOf={(field) => refused?.about(field)}
            onChange={(domains) => set({ allowedDomains: domains })}
          />
        )}
        <Credential project={project} />
        <FormFoot
          draft={draft}
          failure={t("settings.notSaved")}
          labels={{
            name: t("settings.name"),
            groupId: t("settings.group"),
            url: t("settings.cloneUrl"),
            ref: t("settings.ref"),
            publicUrl: t("settings.publicUrl"),
            submodules: t("settings.submodules"),
            lfs: t("settings.lfs"),
            supersede: t("settings.supersede"),
            labels: t("settings.labels"),
            allowedDomains: t("routes.allowedDomains"),
          }}
        />
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
  const groups = useGroups();
  const offered = groups.filter((group) => group.permission === "manage" || group.id === stored);
  const isUnknown = stored !== null && !offered.some((group) => group.id === stored);
  return (
    <GroupPicker
      label={t("settings.group")}
      groups={
        isUnknown
          ? [...offered, { id: stored, name: t("settings.unknownGroup", { id: String(stored) }) }]
          : offered
      }
      value={value}
      onChange={onChange}
    />
  );
}
