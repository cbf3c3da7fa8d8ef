import { Button, Title } from "@mantine/core";
import { Link, useLocation } from "wouter";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import type { Project, Task } from "../shapes.ts";
import { t } from "../text/text.ts";

/** What to look at after the first deploy of the sample. */
export function SampleSteps({ project, task }: { project: Project; task?: Task }) {
  const [, go] = useLocation();
  const push = useAct(
    async () => {
      const pushed = await answerOf(api.samples[":id"].push.$post({ param: { id: project.id } }));
      go(pushed.taskId === null ? `/deliveries/${pushed.deliveryId}` : `/tasks/${pushed.taskId}`);
      return pushed;
    },
    { failed: t("tryIt.breakFailed"), refresh: ["projects", "tasks", "overview", "deliveries"] },
  );
  const delivery = task?.deliveryId;
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
            href={delivery === undefined ? `/projects/${project.id}/deliveries` : `/deliveries/${delivery}`}
          >
            {t("tryIt.whySubmit")}
          </Button>
        </li>
        <li>
          <b>{t("tryIt.break")}</b>
          <p>{t("tryIt.breakHint")}</p>
          {project.permission === "manage" && (
            <Button variant="default" loading={push.isPending} onClick={() => push.mutate(undefined)}>
              {t("tryIt.breakSubmit")}
            </Button>
          )}
        </li>
        <li>
          <b>{t("tryIt.own")}</b>
          <p>{t("tryIt.ownHint")}</p>
          <Button component={Link} variant="default" href="/projects/new">
            {t("tryIt.addOwn")}
          </Button>
        </li>
      </ol>
    </section>
  );
}
