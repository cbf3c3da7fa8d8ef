import { Checkbox, Group, Text } from "@mantine/core";
import { useState } from "react";

/** Checkboxes of which at least one stays ticked: none would not mean "nothing". `why` says so when the last is unticked. */
export function KeptTicks<Value extends string>({
  label,
  choices,
  value,
  onChange,
  why,
}: {
  label: string;
  choices: readonly { value: Value; label: string }[];
  value: readonly Value[];
  onChange: (value: Value[]) => void;
  why: string;
}) {
  const [isRefused, setRefused] = useState(false);
  const toggle = (toggled: Value, isOn: boolean) => {
    const chosen = choices.map((choice) => choice.value);
    const next = chosen.filter((each) => (each === toggled ? isOn : value.includes(each)));
    setRefused(next.length === 0);
    if (next.length > 0) onChange(next);
  };
  return (
    <fieldset className="plain" aria-label={label}>
      <Text size="sm" fw={600} mb={6}>
        {label}
      </Text>
      <Group gap="lg">
        {choices.map((choice) => (
          <Checkbox
            key={choice.value}
            label={choice.label}
            checked={value.includes(choice.value)}
            onChange={(event) => toggle(choice.value, event.currentTarget.checked)}
          />
        ))}
      </Group>
      <Text size="sm" role="status" mt={isRefused ? 6 : 0}>
        {isRefused && why}
      </Text>
    </fieldset>
  );
}
