import { Table, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { answerOf, api } from "../api.ts";
import type { Task } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { shortCommit } from "../time-text.ts";
import { visible } from "../visible.ts";
import { ApprovalAnswer } from "./approval-answer.tsx";
import { settingLabel, Value } from "./changed-settings.tsx";
import { Moment } from "./moment.tsx";
import { Loaded } from "./query.tsx";

type Changes = InferResponseType<(typeof api.tasks)[":id"]["changes"]["$get"], 200>;

/** A request for approval: until when, what the deploy would change, and the answer. */
export function ApprovalPanel({ task, mayAnswer }: { task: Task; mayAnswer: boolean }) {
  const changes = useQuery({
    queryKey: ["task", task.id, "changes"],
    queryFn: () => answerOf(api.tasks[":id"].changes.$get({ param: { id: task.id } })),
  });
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
      <Loaded query={changes}>{(loaded) => <ChangesView changes={loaded} />}</Loaded>
    </section>
  );
}

/** Who may approve it, and why others may not. */
function Approvers({ approval }: { approval: NonNullable<Task["approval"]> }) {
  const { mayApprove = [], excluded = [], needsReason } = approval;
  const people = mayApprove.map(({ username }) => visible(username)).join(t("words.listSeparator"));
  return (
    <>
      {needsReason && <p>{t("approval.needsReason")}</p>}
      {people !== "" && <p className="foreign">{t("approval.mayApprove", { people })}</p>}
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

function ChangesView({ changes }: { changes: Changes }) {
  const { serving, commits, settings, compare, goesBack } = changes;
  return (
    <>
      <h3>{headOf(changes)}</h3>
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
      {serving !== null && <ChangedSettings settings={settings} />}
    </>
  );
}

function headOf({ serving, commits: [own], goesBack }: Changes): ReactNode {
  if (serving === null) return t("approval.nothingServes");
  const commit = (
    <Link href={`/tasks/${serving.taskId}`} className="mono">
      {visible(shortCommit(serving.commit))}
    </Link>
  );
  if (own?.commit === serving.commit) return rich("approval.same", { commit });
  if (!goesBack) return rich("approval.pushes", { commit });
  return rich("approval.goesBack", { commit, to: visible(shortCommit(own?.commit ?? null)) });
}

/** On a phone each value has a line of its own. */
function ChangedSettings({ settings }: { settings: Changes["settings"] }) {
  if (settings.length === 0) return <p className="dim">{t("approval.sameSettings")}</p>;
  return (
    <Table aria-label={t("approval.settings")} className="approval-settings">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("release.setting")}</Table.Th>
          <Table.Th>{t("approval.settingServing")}</Table.Th>
          <Table.Th>{t("approval.settingTask")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {settings.map(({ setting, serving, task }) => (
          <Table.Tr key={setting}>
            <Table.Th scope="row" className="foreign">
              {settingLabel(setting)}
            </Table.Th>
            <Table.Td data-label={t("approval.settingServing")}>
              <Value text={serving} />
            </Table.Td>
            <Table.Td data-label={t("approval.settingTask")}>
              <Value text={task} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
