import type { ButtonProps } from "@mantine/core";
import { useRollback } from "../release-query.ts";
import type { Project, Release } from "../shapes.ts";
import { t } from "../text/text.ts";
import { shortCommit } from "../time-text.ts";
import { visible } from "../visible.ts";
import { ApprovalHint } from "./approval-hint.tsx";
import { Returning } from "./changed-settings.tsx";
import { ConfirmButton } from "./confirm.tsx";

/**
 * Asks before a release comes back: whether it needs a build, and which settings return with it. Where nothing serves there
 * is nothing to roll back from: the release is deployed again.
 */
export function ReturnButton({
  project,
  release,
  ...button
}: {
  project: Project;
  release: Release;
} & Pick<ButtonProps, "size">) {
  const rollback = useRollback(project.id);
  const commit = visible(shortCommit(release.commit));
  const isServing = project.liveTaskId !== null;
  return (
    <ConfirmButton
      {...button}
      label={t(isServing ? "project.rollback" : "project.deployAgain")}
      aria-label={t(isServing ? "project.rollbackTo" : "project.deployAgainOf", { commit })}
      pageAction={t(isServing ? "project.rollbackTo" : "project.deployAgainOf", { commit })}
      title={t(isServing ? "project.rollbackTitle" : "project.deployAgainTitle", { commit })}
      isWide
      confirm={t(isServing ? "project.rollbackSubmit" : "project.deployAgainSubmit")}
      onConfirm={() => rollback.mutateAsync(release.taskId)}
    >
      <p>{t(release.isKept ? "project.rollbackKept" : "project.rollbackBuild")}</p>
      <ApprovalHint project={project} />
      <Returning projectId={project.id} taskId={release.taskId} />
    </ConfirmButton>
  );
}
