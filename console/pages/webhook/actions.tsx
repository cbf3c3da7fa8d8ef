import { KeptTicks } from "../../components/kept-ticks.tsx";
import type { Webhook } from "../../shapes.ts";
import { t } from "../../text/text.ts";

type Actions = Webhook["actions"];

export const buildOnly = { build: true, deploy: false, start: false };
export const everyStage = { build: true, deploy: true, start: true };

const stages = ["build", "deploy", "start"] as const;
type Stage = (typeof stages)[number];

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
  const first = stages.indexOf(value?.fromStage ?? "build");
  const chosen = stages.filter((stage, index) => index >= first && value?.[stage] !== false);
  const set = (next: Stage[]) => {
    const isChosen = (stage: Stage) => next.includes(stage);
    const isAll = next.length === stages.length;
    onChange(
      isAll ? null : { build: isChosen("build"), deploy: isChosen("deploy"), start: isChosen("start") },
    );
  };
  return (
    <KeptTicks
      label={label}
      choices={stages.map((stage) => ({ value: stage, label: t(`stages.${stage}`) }))}
      value={chosen}
      onChange={set}
      why={t("webhook.actionsKept")}
    />
  );
}
