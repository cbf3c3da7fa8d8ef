import { Button, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { usePolling } from "../live.ts";
import type { Project, Task } from "../shapes.ts";
import { t } from "../text/text.ts";

/** What to look at after the first deploy of the sample. The second step follows what its tasks did. */
export function SampleSteps({ project, task }: { project: Project; task?: Task }) {
  const delivery = task?.deliveryId;
  const step = useBreakStep(project.id);
  return (
    <section className="panel sample-steps">
      <Title order={2}>{t("tryIt.next")}</Title>
      <ol>
        <li>
          <b>{t("tryIt.why")}</b>
          <p>{t("tryIt.whyHint")}</p>
          <Button
            component={Link}
            variant="default"
            href={delivery === undefined ? `/projects/${project.id}/activity` : `/deliveries/${delivery}`}
          >
            {t("tryIt.whySubmit")}
          </Button>
        </li>
        <li>
          <b>{t(`tryIt.${step}`)}</b>
          <p>{t(`tryIt.${step}Hint`)}</p>
          {project.permission === "manage" && step !== "fixed" && <Push project={project} step={step} />}
        </li>
        <li>
          <b>{t("tryIt.own")}</b>
          <p>{t("tryIt.ownHint")}</p>
          <Button component={Link} variant={step === "fixed" ? "filled" : "default"} href="/projects/new">
            {t("tryIt.addOwn")}
          </Button>
        </li>
      </ol>
    </section>
  );
}

function Push({ project: { id }, step }: { project: Project; step: "break" | "fix" }) {
  const [, go] = useLocation();
  const push = useAct(
    async () => {
      const json = { broken: step === "break" };
      const pushed = await answerOf(api.samples[":id"].push.$post({ param: { id }, json }));
      go(pushed.taskId === null ? `/deliveries/${pushed.deliveryId}` : `/tasks/${pushed.taskId}`);
      return pushed;
    },
    { failed: t("tryIt.breakFailed"), refresh: ["projects", "activity", "home"] },
  );
  return (
    <Button variant="default" loading={push.isPending} onClick={() => push.mutate(undefined)}>
      {t(`tryIt.${step}Submit`)}
    </Button>
  );
}

/** The sample works, is broken, or was broken and works again. */
function useBreakStep(projectId: number): "break" | "fix" | "fixed" {
  const refetchInterval = usePolling();
  const { data } = useQuery({
    queryKey: ["activity", "of-sample", projectId],
    queryFn: () => answerOf(api.tasks.$get({ query: { projectId: String(projectId), pageSize: "20" } })),
    refetchInterval,
  });
  const [last, ...earlier] = data?.items.filter(({ finishedAt }) => finishedAt !== null) ?? [];
  if (last?.state === "failed") return "fix";
  return earlier.some(({ state }) => state === "failed") ? "fixed" : "break";
}
