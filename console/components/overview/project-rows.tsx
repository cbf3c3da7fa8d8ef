import { Table, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { OverviewRow } from "../../overview-query.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { shortCommit, shortRef } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import { Elapsed, Moment } from "../moment.tsx";
import { StateLabel } from "../state.tsx";
import { Waiting } from "../task-parts.tsx";
import { RunStrip } from "./run-strip.tsx";
import { MedianDuration, SuccessRate } from "./trend.tsx";

/** One row per project: what it does now, what it serves, and how it has been doing. */
export function ProjectRows({ rows }: { rows: OverviewRow[] }) {
  return (
    <Table aria-label={t("overview.projects")} className="project-rows">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("overview.project")}</Table.Th>
          <Table.Th>{t("overview.serving")}</Table.Th>
          <Table.Th>{t("overview.runs")}</Table.Th>
          <Table.Th className="spare-cell">
            <Hint text={t("overview.successHint")}>{t("overview.success")}</Hint>
          </Table.Th>
          <Table.Th className="spare-cell">
            <Hint text={t("overview.medianHint")}>{t("overview.median")}</Hint>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={row.projectId} data-broken={row.isBroken || undefined}>
            <Table.Td className="project-cell">
              <Link href={`/projects/${row.projectId}`} className="foreign strong">
                {visible(row.name)}
              </Link>
              <Now row={row} />
            </Table.Td>
            <Table.Td className="serving-cell">
              <Serving row={row} />
            </Table.Td>
            <Table.Td className="runs-cell">
              <RunStrip projectId={row.projectId} runs={row.runs} />
            </Table.Td>
            <Table.Td className="spare-cell" data-label={t("overview.success")}>
              <SuccessRate now={row.last30Days} before={row.previous30Days} />
            </Table.Td>
            <Table.Td className="spare-cell" data-label={t("overview.median")}>
              <MedianDuration now={row.last30Days} before={row.previous30Days} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Hint({ text, children }: { text: string; children: ReactNode }) {
  return (
    <Tooltip label={text} multiline w={240}>
      <span className="hint" title={text}>
        {children}
      </span>
    </Tooltip>
  );
}

/** The task in progress with its stage; else the failure that needs a look. */
function Now({ row: { current, isBroken, approvals, runs, ref } }: { row: OverviewRow }) {
  const last = runs.findLast(({ state }) => ["failed", "timeout", "lost"].includes(state));
  if (current !== null)
    return (
      <div className="now">
        <Link href={`/tasks/${current.taskId}`} className="task-link">
          <StateLabel state={current.state} />
        </Link>
        <span className="dim small">
          {current.stage === null ? (
            <Elapsed from={current.since} to={null} />
          ) : (
            rich("overview.stage", {
              stage: current.stage,
              time: <Elapsed from={current.since} to={null} />,
            })
          )}
        </span>
        <Waiting task={current} />
        {approvals > 0 && (
          <span className="waiting small">{t("overview.approvals", { count: approvals })}</span>
        )}
      </div>
    );
  if (isBroken && last !== undefined)
    return (
      <div className="now">
        <Link href={`/tasks/${last.id}`} className="task-link">
          <StateLabel state={last.state} />
        </Link>
        <span className="dim small">
          <Moment at={last.at} />
        </span>
      </div>
    );
  return <div className="now dim small cut">{visible(shortRef(ref))}</div>;
}

function Serving({ row: { live, liveNote, liveNoteParts } }: { row: OverviewRow }) {
  if (live === null)
    return (
      <span className="dim small" title={reasonIn(liveNote, liveNoteParts)}>
        {t(liveNote === "" ? "overview.nothingServes" : "overview.servingUnknown")}
      </span>
    );
  return (
    <>
      <div className="serving-commit">
        <Link href={`/tasks/${live.taskId}`} className="mono">
          {visible(shortCommit(live.commit)) || `#${live.taskId}`}
        </Link>
        <span className="cut" title={visible(live.message)}>
          {visible(live.message) || visible(shortRef(live.ref))}
        </span>
      </div>
      {live.since !== null && (
        <div className="dim small cut">
          {rich("overview.sinceBy", { since: <Moment at={live.since} />, by: visible(live.by) })}
        </div>
      )}
    </>
  );
}
