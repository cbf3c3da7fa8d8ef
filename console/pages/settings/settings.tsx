import { useLocation } from "wouter";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Members } from "../../components/members.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import type { Project } from "../../shapes.ts";
import { leavingFreely } from "../../unsaved.ts";
import { CommitStatusSettings } from "./commit-status.tsx";
import { ExecutionSettings } from "./execution.tsx";
import { NotificationSettings } from "./notifications.tsx";
import { RepositorySettings } from "./repository.tsx";
import { StageSettings } from "./stages.tsx";
import { EnvironmentSettings, SecretSettings } from "./variables.tsx";

export function ProjectSettings({ project }: { project: Project }) {
  return (
    <div className="stack">
      <RepositorySettings project={project} />
      <StageSettings project={project} />
      <ExecutionSettings project={project} />
      <EnvironmentSettings project={project} />
      <SecretSettings project={project} />
      <Panel title="Members" about="Who may look at the project, and who may change and deploy it.">
        <Members of="projects" id={project.id} />
      </Panel>
      <NotificationSettings project={project} />
      <CommitStatusSettings project={project} />
      <ForManagers>
        <DeleteProject project={project} />
      </ForManagers>
    </div>
  );
}

function DeleteProject({ project }: { project: Project }) {
  const [, go] = useLocation();
  const remove = useAct(() => answerOf(api.projects[":id"].$delete({ param: { id: project.id } })), {
    done: `The project ${project.name} was deleted.`,
    refresh: ["projects", "unsigned-webhooks"],
  });
  return (
    <Panel
      title="Delete"
      about="With its webhook, tasks, logs, secrets and members. Its deliveries stay as history."
    >
      <ConfirmButton
        label="Delete the project"
        title={`Delete ${project.name}?`}
        confirm="Delete the project"
        isDanger
        onConfirm={async () => {
          await remove.mutateAsync(undefined);
          leavingFreely(() => go("/projects"));
        }}
      >
        Its webhook address stops working at once. This cannot be undone.
      </ConfirmButton>
    </Panel>
  );
}
