import { Button, Group, Text, Title } from "@mantine/core";
import { Link, useLocation } from "wouter";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { t } from "../text/text.ts";
import { Icon } from "./icon.tsx";

/** The first minute: a sample project with a repository of its own, and a push to it that can be watched. */
export function TryIt({ isAdmin }: { isAdmin: boolean }) {
  const [, go] = useLocation();
  const make = useAct(
    async () => {
      const sample = await answerOf(api.samples.$post());
      go(sample.taskId === null ? `/projects/${sample.projectId}` : `/tasks/${sample.taskId}`);
      return sample;
    },
    { failed: t("tryIt.failed"), refresh: ["projects", "activity", "home"] },
  );
  if (!isAdmin)
    return (
      <section className="panel try-it">
        <Title order={2}>{t("tryIt.noProjects")}</Title>
        <Text c="dimmed">{t("tryIt.noProjectsHint")}</Text>
      </section>
    );
  return (
    <div className="stack">
      <section className="panel try-it">
        <svg viewBox="0 0 360 120" aria-hidden="true" className="try-it-picture">
          <path d="M10 58 350 106" stroke="var(--line-strong)" strokeWidth="5" strokeLinecap="round" />
          <path
            d="M70 68v34M150 79v28M230 90v20"
            stroke="var(--line-strong)"
            strokeWidth="5"
            strokeLinecap="round"
          />
          <g className="try-it-hull">
            <path
              d="M34 24l34 5 4-17 24 4-4 17 52 7c-3 17-13 29-28 34l-72-10c-8-11-12-26-10-40z"
              fill="var(--mantine-color-tide-7)"
            />
          </g>
        </svg>
        <Title order={2}>{t("tryIt.title")}</Title>
        <Text c="dimmed" maw={520}>
          {t("tryIt.about")}
        </Text>
        <Group mt="md">
          <Button
            leftSection={<Icon name="play" size={15} />}
            loading={make.isPending}
            onClick={() => make.mutate(undefined)}
          >
            {t("tryIt.start")}
          </Button>
          <Button variant="default" component={Link} href="/projects/new">
            {t("tryIt.addOwn")}
          </Button>
        </Group>
      </section>
      <section className="panel try-it">
        <Title order={2}>{t("tryIt.onlyPush")}</Title>
        <Text c="dimmed" maw={520}>
          {t("tryIt.onlyPushAbout")}
        </Text>
        <Button mt="md" variant="default" component={Link} href="/push/playground">
          {t("tryIt.openPush")}
        </Button>
      </section>
    </div>
  );
}
