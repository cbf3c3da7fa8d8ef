import { Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { ConfirmButton } from "../../components/confirm.tsx";
import { CopyText } from "../../components/copy-text.tsx";
import { Panel } from "../../components/page.tsx";
import { StateLabel } from "../../components/state.tsx";
import { usePolling } from "../../live.ts";
import type { Project } from "../../shapes.ts";
import { taskQuery, useRunProject } from "../../task-query.ts";
import { t } from "../../text/text.ts";
import { shortRef } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import { ArrivalState, isRefused, useArrival } from "../webhook/arrival.tsx";

const pushCommand = 'git commit --allow-empty -m "Deploy with Slipway" && git push';

/** Waits for the first push, and then shows the deploy that it started. */
export function FirstPush({ project }: { project: Project }) {
  const last = useArrival(project.id);
  // Zero: it started none.
  const taskId = (last?.task_id || last?.merged_into_task_id) ?? null;
  return (
    <Panel title={titleOf(last)}>
      <ArrivalState delivery={last} />
      {last === null && (
        <div className="push-command">
          <Text size="sm" mb={4}>
            {t("setUp.pushCommand")}
          </Text>
          <CopyText value={pushCommand} label={t("webhook.theCommand")} />
        </div>
      )}
      <Group mt="lg" gap="md">
        {taskId === null ? <DeployNow project={project} /> : <StartedDeploy taskId={taskId} />}
        <Link href={`/projects/${project.id}`}>{t("setUp.later")}</Link>
      </Group>
    </Panel>
  );
}

function titleOf(last: ReturnType<typeof useArrival>): string {
  if (last === undefined || last === null) return t("setUp.waiting");
  return isRefused(last) ? t("setUp.refused") : t("setUp.arrived");
}

function StartedDeploy({ taskId }: { taskId: number }) {
  const refetchInterval = usePolling();
  const task = useQuery({ ...taskQuery(taskId), refetchInterval }).data;
  return (
    <>
      {task !== undefined && <StateLabel state={task.state} strong />}
      <Button component={Link} href={`/tasks/${taskId}`}>
        {task?.state === "failed" ? t("setUp.whyFailed") : t("setUp.watch")}
      </Button>
    </>
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
