import { Button } from "@mantine/core";
import { complain, complainOf, tell } from "../../act.ts";
import { messageOf, queryClient } from "../../api.ts";
import type { ActivityRow } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { shortCommit } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import { ConfirmButton } from "../confirm.tsx";
import { Moment } from "../moment.tsx";
import { actOnRows, applicable, type BulkAction } from "./bulk.ts";
import { keyOf, titleOf } from "./row.tsx";

/** Queries that the actions change. */
const touched = ["activity", "task", "delivery", "project", "home", "notices"];

/** What can be done with the selected rows. */
export function SelectionBar({
  rows,
  isAdmin,
  onDone,
}: {
  rows: ActivityRow[];
  isAdmin: boolean;
  onDone: () => void;
}) {
  const actions: BulkAction[] = isAdmin ? ["rerun", "cancel", "replay"] : ["rerun", "cancel"];
  return (
    <div className="selection-bar" role="toolbar" aria-label={t("activity.selection")}>
      <span role="status">{t("activity.selected", { count: rows.length })}</span>
      {actions.map((action) => (
        <Action key={action} action={action} rows={rows} onDone={onDone} />
      ))}
      <Button variant="subtle" onClick={onDone}>
        {t("activity.clearSelection")}
      </Button>
    </div>
  );
}

function Action({ action, rows, onDone }: { action: BulkAction; rows: ActivityRow[]; onDone: () => void }) {
  const { able, obstacles } = applicable(action, rows);
  const why = [...obstacles].map(([obstacle, count]) => t(`activity.not_${obstacle}`, { count })).join(" ");
  if (able.length === 0)
    return (
      <Button variant="default" onClick={() => complainOf(t(`activity.none_${action}`, { why }))}>
        {t(`activity.${action}`)}
      </Button>
    );
  const act = async () => {
    const { done, problems } = await actOnRows(action, able);
    await Promise.all(touched.map((key) => queryClient.invalidateQueries({ queryKey: [key] })));
    if (done > 0) tell([t(`activity.done_${action}`, { count: done }), why].join(" "));
    if (problems.length > 0)
      complain(new Error(t("activity.failed", { count: problems.length, problem: messageOf(problems[0]) })));
    onDone();
  };
  return (
    <ConfirmButton
      label={t(`activity.${action}`)}
      title={t(`activity.ask_${action}`, { count: able.length })}
      confirm={t(`activity.${action}`)}
      dismiss={t(action === "cancel" ? "task.keepRunning" : "form.cancel")}
      isDanger={action === "cancel"}
      onConfirm={act}
    >
      <p>{t(`activity.about_${action}`)}</p>
      <ul className="selection-list">
        {able.map((row) => (
          <li key={keyOf(row)}>
            <b className="foreign">{titleOf(row)}</b>{" "}
            <span className="dim">
              {visible(row.delivery?.project_name || row.task?.projectName || "")}{" "}
              <span className="mono">
                {visible(shortCommit(row.delivery?.commit || row.task?.commit || ""))}
              </span>{" "}
              <Moment at={row.at} />
            </span>
          </li>
        ))}
      </ul>
      {why !== "" && <p role="note">{t("activity.leftOut", { why })}</p>}
    </ConfirmButton>
  );
}
