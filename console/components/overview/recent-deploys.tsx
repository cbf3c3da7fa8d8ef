import { Link } from "wouter";
import type { OverviewData } from "../../overview-query.ts";
import { t } from "../../text/text.ts";
import { durationText, shortCommit } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import { Moment } from "../moment.tsx";
import { Panel } from "../page.tsx";
import { StateLabel } from "../state.tsx";

/** The last deploys of all projects, with those that failed. */
export function RecentDeploys({ deploys }: { deploys: OverviewData["deploys"] }) {
  return (
    <Panel title={t("overview.deploys")} action={<Link href="/tasks">{t("overview.allTasks")}</Link>}>
      {deploys.length === 0 ? (
        <p className="dim small">{t("overview.noDeploys")}</p>
      ) : (
        <ol className="deploys" aria-label={t("overview.deploys")}>
          {deploys.map((deploy) => (
            <li key={deploy.taskId}>
              <div className="deploy-head">
                <Link href={`/projects/${deploy.projectId}`} className="strong cut">
                  {visible(deploy.projectName)}
                </Link>
                <Link href={`/tasks/${deploy.taskId}`} className="mono">
                  {visible(shortCommit(deploy.commit)) || `#${deploy.taskId}`}
                </Link>
              </div>
              {deploy.state !== "success" && (
                <div className="small">
                  <StateLabel state={deploy.state} />
                </div>
              )}
              <div className="cut small" title={visible(deploy.message)}>
                {visible(deploy.message)}
              </div>
              <div className="dim small cut">
                <Moment at={deploy.at} /> · {visible(deploy.by)}
                {deploy.ms !== null && ` · ${durationText(deploy.ms)}`}
              </div>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
