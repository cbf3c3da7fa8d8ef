import { Checkbox, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answerOf, api } from "../../api.ts";
import { Notice } from "../../components/notice.tsx";
import { Panel } from "../../components/page.tsx";
import { FormFoot } from "../../components/save-bar.tsx";
import { useProjectDraft } from "../../project-query.ts";
import type { Project } from "../../shapes.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import { ProjectKey } from "./project-key.tsx";

/** Under which name commit statuses are reported, and whether excluded pushes get one. */
export function CommitStatusSettings({ project }: { project: Project }) {
  const status = useQuery({
    queryKey: ["project", project.id, "commit-status"],
    queryFn: () => answerOf(api.projects[":id"]["commit-status"].$get({ param: { id: project.id } })),
  });
  const draft = useProjectDraft(
    project,
    ({ commitStatus: { context, skipped } }) => ({ context, skipped }),
    (commitStatus) => ({ commitStatus }),
  );
  const warnings = [
    ...(status.data?.warnings ?? []).map((text, index) => reasonIn(text, status.data?.warningParts[index])),
    ...(status.data?.tokenSet && !status.data.supported ? [t("settings.statusUnsupported")] : []),
  ];
  return (
    <Panel id="commit-status" title={t("settings.commitStatus")} about={t("settings.statusAbout")}>
      {warnings.map((warning) => (
        <Notice key={warning} label={t("settings.commitStatus")}>
          <span className="foreign">{warning}</span>
        </Notice>
      ))}
      <form className="form" onSubmit={draft.submit}>
        <TextInput
          label={t("settings.statusContext")}
          description={t("settings.statusContextHint")}
          required
          {...draft.text("context", "commitStatus.context")}
        />
        <Checkbox
          label={t("settings.statusSkipped")}
          description={t("settings.statusSkippedHint")}
          {...draft.flag("skipped")}
        />
        <FormFoot
          draft={draft}
          failure={t("settings.statusNotSaved")}
          labels={{ context: t("settings.statusContext"), skipped: t("settings.statusSkipped") }}
        />
      </form>
      <ProjectKey projectId={project.id} kind="status-token" />
    </Panel>
  );
}
