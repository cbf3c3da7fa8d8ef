import { type StageName, stageNames } from "../../../src/model/stage/stage-name.ts";
import { KeptTicks } from "../../components/kept-ticks.tsx";
import type { Webhook } from "../../shapes.ts";
import { t } from "../../text/text.ts";

type Actions = Webhook["actions"];

function actionsWhere(isAsked: (stage: StageName) => boolean) {
  return Object.fromEntries(stageNames.map((stage) => [stage, isAsked(stage)])) as Record<StageName, boolean>;
}

export const buildOnly = actionsWhere((stage) => stage === "build");
export const everyStage = actionsWhere(() => true);

/** Which stages a delivery runs; all of them is written as "unset". */
export function ActionFields({
  value,
  onChange,
  label = t("webhook.actions"),
}: {
  value: Actions;
  onChange: (actions: Actions) => void;
  label?: string;
}) {
  const first = stageNames.indexOf(value?.fromStage ?? stageNames[0]);
  const chosen = stageNames.filter((stage, index) => index >= first && value?.[stage] !== false);
  const set = (next: StageName[]) => {
    const isAll = next.length === stageNames.length;
    onChange(isAll ? null : actionsWhere((stage) => next.includes(stage)));
  };
  return (
    <KeptTicks
      label={label}
      choices={stageNames.map((stage) => ({ value: stage, label: t(`stages.${stage}`) }))}
      value={chosen}
      onChange={set}
      why={t("webhook.actionsKept")}
    />
  );
}
