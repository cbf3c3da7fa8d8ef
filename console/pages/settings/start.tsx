import { NumberInput, Select, TextInput } from "@mantine/core";
import { ScriptEditor } from "../../components/script-editor.tsx";
import { t } from "../../text/text.ts";
import type { StartStep, Step } from "./steps.tsx";

/** The fields of a step of start that other steps do not have. */
type StartFields = Omit<StartStep, keyof Step | "healthCheck">;
type Previous = StartFields["previous"];

function choices(): { value: Previous; label: string; about: string }[] {
  return [
    { value: "stop-first", label: t("stages.stopFirst"), about: t("stages.stopFirstHint") },
    {
      value: "stop-after-healthy",
      label: t("stages.stopAfterHealthy"),
      about: t("stages.stopAfterHealthyHint"),
    },
    { value: "keep", label: t("stages.keep"), about: t("stages.keepHint") },
  ];
}

const examples = {
  switch: 'sed "s/@PORT@/$PORT/" upstream.conf >/etc/nginx/conf.d/shop.conf\nsudo nginx -s reload',
  log: "log/production.log",
};

export function StartSettings({
  value,
  set,
  errorOf,
  isChecked,
}: {
  value: StartFields;
  set: (change: Partial<StartFields>) => void;
  errorOf: (field: keyof StartFields) => string | undefined;
  /** With a health check, nothing waits for a time. */
  isChecked: boolean;
}) {
  const { previous } = value;
  return (
    <>
      <Select
        label={t("stages.previous")}
        description={choices().find((choice) => choice.value === previous)?.about}
        data={choices()}
        allowDeselect={false}
        value={previous}
        error={errorOf("previous")}
        onChange={(chosen) =>
          set({
            previous: (chosen ?? "keep") as Previous,
            ...(chosen === "stop-after-healthy" ? {} : { switch: "" }),
          })
        }
      />
      {previous === "stop-after-healthy" && (
        <ScriptEditor
          label={t("stages.switch")}
          description={t("stages.switchHint")}
          placeholder={examples.switch}
          minLines={2}
          value={value.switch}
          error={errorOf("switch")}
          onChange={(event) => set({ switch: event.currentTarget.value })}
        />
      )}
      {!isChecked && (
        <NumberInput
          label={t("stages.settle")}
          suffix=" s"
          min={0}
          max={600}
          maw={260}
          value={value.settleSeconds}
          error={errorOf("settleSeconds")}
          onChange={(seconds) => set({ settleSeconds: Number(seconds) })}
        />
      )}
      <TextInput
        label={t("stages.log")}
        description={t("stages.logHint")}
        placeholder={examples.log}
        maw={420}
        value={value.log}
        error={errorOf("log")}
        onChange={(event) => set({ log: event.currentTarget.value })}
      />
    </>
  );
}
