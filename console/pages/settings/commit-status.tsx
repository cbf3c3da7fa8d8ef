import { Alert, Checkbox, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answerOf, api } from "../../api.ts";
import { Panel } from "../../components/page.tsx";
import { SaveBar } from "../../components/save-bar.tsx";
import { useProjectDraft } from "../../project-query.ts";
import type { Project } from "../../shapes.ts";
import { visible } from "../../visible.ts";
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
    ...(status.data?.warnings ?? []),
    ...(status.data?.tokenSet && !status.data.supported
      ? ["The Git host of this repository has no known API for commit statuses: nothing is reported."]
      : []),
  ];
  return (
    <Panel title="Commit status" about="The state of a task beside its commit at the Git host.">
      {warnings.map((warning) => (
        <Alert key={warning} color="lamp" variant="light" role="note" aria-label="Commit status" mb="md">
          <span className="foreign">{visible(warning)}</span>
        </Alert>
      ))}
      <form className="form" onSubmit={draft.submit}>
        <TextInput
          label="Context of commit statuses"
          description="Statuses of one commit with the same context replace each other: projects of one repository need different ones."
          required
          {...draft.text("context", "commitStatus.context")}
        />
        <Checkbox
          label="Report excluded pushes as skipped"
          description="Only where the commit has no status of this context yet."
          {...draft.flag("skipped")}
        />
        <SaveBar draft={draft} />
      </form>
      <ProjectKey projectId={project.id} kind="status-token" />
    </Panel>
  );
}
