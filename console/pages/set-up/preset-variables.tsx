import { TextInput } from "@mantine/core";
import { variableHint } from "./preset-fields.ts";

/** What the scripts of a preset take from variables: shown before the first deploy, and asked for where nothing suggests it. */
export function PresetVariables({
  env,
  errorOf,
  onChange,
}: {
  env: Record<string, string>;
  errorOf: (name: string) => string | undefined;
  onChange: (name: string, value: string) => void;
}) {
  return Object.entries(env).map(([name, value]) => (
    <TextInput
      key={name}
      maw={420}
      required
      label={name}
      description={variableHint(name)}
      spellCheck={false}
      classNames={{ input: "mono" }}
      value={value}
      error={errorOf(name)}
      onChange={(event) => onChange(name, event.currentTarget.value)}
    />
  ));
}
