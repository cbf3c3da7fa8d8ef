import { Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { answerOf, api } from "../api.ts";
import { projectQuery } from "../project-query.ts";
import { meQuery } from "../session.ts";
import type { Task } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { shortCommit } from "../time-text.ts";
import { visible } from "../visible.ts";
import { ApprovalAnswer } from "./approval-answer.tsx";
import { SettingsTable } from "./changed-settings.tsx";
import { Moment } from "./moment.tsx";
import { Loaded } from "./query.tsx";

type Changes = InferResponseType<(typeof api.tasks)[":id"]["changes"]["$get"], 200>;

/** A request for approval: until when, what the deploy would change, and the answer. */
export function ApprovalPanel({ task, mayAnswer }: { task: Task; mayAnswer: boolean }) {
  const changes = useQuery({
    queryKey: ["task", task.id, "changes"],
    queryFn: () => answerOf(api.tasks[":id"].changes.$get({ param: { id: task.id } })),
  });
  const project = useQuery(projectQuery(task.projectId));
  return (
    <section className="panel approval" aria-label={t("approval.title")}>
      <div className="approval-head">
        <div>
          <Title order={2}>{t("approval.title")}</Title>
          <p className="foreign">{reasonIn(task.reason, task.reasonParts)}</p>
        </div>
        {mayAnswer ? (
          <div className="approval-actions">
            <ApprovalAnswer task={task} />
          </div>
        ) : (
          <p>{t("approval.managersOnly")}</p>
        )}
      </div>
      {task.approval && <Approvers approval={task.approval} />}
      <Loaded query={changes}>
        {(loaded) => <ChangesView changes={loaded} isServingUnknown={!!project.data?.liveNote} />}
      </Loaded>
    </section>
  );
}

/** Who may approve it, and why others may not. */
function Approvers({ approval }: { approval: NonNullable<Task["approval"]> }) {
  const { mayApprove = [], excluded = [], needsReason } = approval;
  const { data: me } = useQuery(meQuery);
  const others = mayApprove.filter(({ username }) => username !== me?.username);
  const isMine = others.length < mayApprove.length;
  const people = others.map(({ username }) => visible(username)).join(t("words.listSeparator"));
  return (
    <>
      {needsReason && <p>{t("approval.needsReason")}</p>}
      {mayApprove.length > 0 && (
        <p className="foreign">
          {!isMine
            ? t("approval.mayApprove", { people })
            : people === ""
              ? t("approval.youMayApprove")
              : t("approval.youAndOthersMayApprove", { people })}
        </p>
      )}
      {excluded.length > 0 && (
        <details className="approval-excluded">
          <summary>{t("approval.excluded", { count: excluded.length })}</summary>
          <ul>
            {excluded.map(({ username, because, becauseParts }) => (
              <li key={username} className="foreign">
                {reasonIn(because, becauseParts)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function ChangesView({ changes, isServingUnknown }: { changes: Changes; isServingUnknown: boolean }) {
  const { serving, commits, settings, compare, goesBack } = changes;
  return (
    <>
      <h3>{headOf(changes, isServingUnknown)}</h3>
      <ul className="approval-commits" aria-label={t("approval.commits")}>
        {commits.map(({ taskId, commit, message, author, createdAt }) => (
          <li key={taskId}>
            <Link href={`/tasks/${taskId}`} className="mono">
              {visible(shortCommit(commit)) || t("task.number", { id: String(taskId) })}
            </Link>
            <span className="foreign">{visible(message.split("\n")[0] ?? "")}</span>
            <span className="dim small">
              {author !== "" && `${visible(author)} · `}
              <Moment at={createdAt} />
            </span>
          </li>
        ))}
      </ul>
      {!goesBack && serving !== null && <p className="dim small">{t("approval.pushesHint")}</p>}
      {compare !== null && (
        <p>
          <a href={compare} target="_blank" rel="noreferrer" className="outside">
            {t("approval.compare")}
          </a>
        </p>
      )}
      {serving !== null && settings.length === 0 && <p className="dim">{t("approval.sameSettings")}</p>}
      {serving !== null && settings.length > 0 && (
        <SettingsTable
          items={settings.map(({ setting, serving, task }) => ({ setting, release: serving, project: task }))}
          label={t("approval.settings")}
          titles={[t("approval.settingServing"), t("approval.settingTask")]}
        />
      )}
    </>
  );
}

function headOf({ serving, commits: [own], goesBack }: Changes, isServingUnknown: boolean): ReactNode {
  if (serving === null) return t(isServingUnknown ? "approval.unknownServes" : "approval.firstDeploy");
  const commit = (
    <Link href={`/tasks/${serving.taskId}`} className="mono">
      {visible(shortCommit(serving.commit))}
    </Link>
  );
  if (own?.commit === serving.commit) return rich("approval.same", { commit });
  if (!goesBack) return rich("approval.pushes", { commit });
  return rich("approval.goesBack", { commit, to: visible(shortCommit(own?.commit ?? null)) });
}
