import { Table } from "@mantine/core";
import { Link } from "wouter";
import type { HomeData, HomeRow } from "../../home-query.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { shortCommit, shortRef } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import { Elapsed, Moment } from "../moment.tsx";
import { StateLabel, Toned } from "../state.tsx";

/** One line per project: its state, what it serves, and the last change. */
export function ProjectRows({ rows, groups }: { rows: HomeRow[]; groups: HomeData["groups"] }) {
  const nameOf = new Map(groups.map(({ id, name }) => [id, name]));
  return (
    <Table aria-label={t("home.projects")} className="project-rows">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("words.project")}</Table.Th>
          <Table.Th>{t("home.state")}</Table.Th>
          <Table.Th>{t("home.serving")}</Table.Th>
          <Table.Th>{t("home.lastChange")}</Table.Th>
          <Table.Th>
            <span className="visually-hidden">{t("service.visit")}</span>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={row.projectId}>
            <Table.Td className="name-cell">
              <div className="one-line">
                <Link href={`/projects/${row.projectId}`} className="cut strong" title={visible(row.name)}>
                  {visible(row.name)}
                </Link>
                {(row.sample || row.groupId !== null) && (
                  <span className="dim small cut">
                    {row.sample ? t("project.sample") : visible(nameOf.get(row.groupId ?? 0) ?? "")}
                  </span>
                )}
              </div>
            </Table.Td>
            <Table.Td className="state-cell">
              <State row={row} />
            </Table.Td>
            <Table.Td className="serving-cell">
              <Serving row={row} />
            </Table.Td>
            <Table.Td className="change-cell">
              <LastChange row={row} />
            </Table.Td>
            <Table.Td className="visit-cell">
              {row.publicUrl !== "" && (
                <a
                  href={row.publicUrl}
                  target="_blank"
                  rel="noreferrer"
                  className="outside"
                  title={t("service.visitHint", { url: visible(row.publicUrl) })}
                >
                  {t("service.visit")}
                </a>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** What it does now; else what is wrong with it; else what it serves. */
function State({
  row: { projectId, current, services, isBroken, last, live, liveNote, liveNoteParts },
}: {
  row: HomeRow;
}) {
  if (current !== null)
    return (
      <Link href={`/tasks/${current.taskId}`} className="task-link">
        <StateLabel state={current.state} />
      </Link>
    );
  if (services !== null && services.state !== "serving")
    return (
      <Link href={`/projects/${projectId}`} className="task-link">
        <StateLabel state={services.state} />
      </Link>
    );
  if (services !== null && !isBroken) return <StateLabel state="serving" />;
  if (last !== null && (isBroken || live === null))
    return (
      <Link href={`/tasks/${last.taskId}`} className="task-link">
        {last.state === "success" && !last.nothingRan ? (
          <Toned tone="success">{t("home.built")}</Toned>
        ) : (
          <StateLabel state={last.state} text={last.nothingRan ? t("tasks.nothingRan") : undefined} />
        )}
      </Link>
    );
  if (live !== null)
    return (
      <Toned tone={live.isChecked ? "success" : "waiting"}>
        {t(live.isChecked ? "home.deployed" : "home.unchecked")}
      </Toned>
    );
  return (
    <span className="dim" title={reasonIn(liveNote, liveNoteParts)}>
      {t(liveNote === "" ? "home.neverRan" : "words.unknown")}
    </span>
  );
}

function Serving({ row: { live, liveNote, liveNoteParts, environments } }: { row: HomeRow }) {
  if (environments.length > 0)
    return (
      <div className="one-line places">
        {environments.map((environment) => (
          <Link key={environment.projectId} href={`/projects/${environment.projectId}`} className="cut">
            {environment.name}{" "}
            <span className="mono dim">
              {environment.live === null ? "–" : visible(shortCommit(environment.live.commit))}
            </span>
          </Link>
        ))}
      </div>
    );
  if (live === null)
    return (
      <span className="dim cut" title={reasonIn(liveNote, liveNoteParts)}>
        {t(liveNote === "" ? "home.nothingServes" : "home.servingUnknown")}
      </span>
    );
  const text = visible(live.message) || visible(shortRef(live.ref));
  return (
    <div className="one-line">
      <Link href={`/tasks/${live.taskId}`} className="mono">
        {visible(shortCommit(live.commit)) || `#${live.taskId}`}
      </Link>
      <span className="cut" title={text}>
        {text}
      </span>
    </div>
  );
}

/** For a running task, the current step and its duration; for a task without a runner, the reason why it waits. */
function LastChange({ row: { current, last, ref } }: { row: HomeRow }) {
  if (current?.waiting !== undefined) {
    const text = reasonIn(current.waiting, current.waitingParts ?? []);
    return (
      <span className="waiting cut" title={text}>
        {text}
      </span>
    );
  }
  if (current !== null && current.stage !== null)
    return (
      <Link href={`/tasks/${current.taskId}`} className="dim cut">
        {`${visible(current.stage)} `}
        <Elapsed from={current.since} to={null} isRough />
      </Link>
    );
  if (last === null) return <span className="dim cut">{visible(shortRef(ref))}</span>;
  return (
    <Link href={`/tasks/${last.taskId}`} className="dim cut" title={visible(last.message)}>
      {rich("home.changedBy", { when: <Moment at={last.at} />, by: visible(last.by) })}
    </Link>
  );
}
