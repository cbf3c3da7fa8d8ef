import { Checkbox, Group, Text } from "@mantine/core";
import type { Webhook } from "../../shapes.ts";
import { t } from "../../text/text.ts";

type Actions = Webhook["actions"];

export const buildOnly = { build: true, deploy: false, start: false };
export const everyStage = { build: true, deploy: true, start: true };

const stages = ["build", "deploy", "start"] as const;

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
  const runs = (stage: (typeof stages)[number]) => value?.[stage] !== false;
  const toggle = (stage: (typeof stages)[number], isOn: boolean) => {
    const next = { ...value, [stage]: isOn };
    const isAll = stages.every((each) => next[each] !== false) && !next.fromStage;
    onChange(isAll ? null : next);
  };
  return (
    <fieldset className="plain" aria-label={label}>
      <Text size="sm" fw={600} mb={6}>
        {label}
      </Text>
      <Group gap="lg">
        {stages.map((stage) => (
          <Checkbox
            key={stage}
            label={stage}
            checked={runs(stage)}
            onChange={(event) => toggle(stage, event.currentTarget.checked)}
          />
        ))}
      </Group>
    </fieldset>
  );
}
