import { NumberInput, Select, TextInput } from "@mantine/core";
import type { ApiProblem } from "../../api.ts";
import { ScriptEditor } from "../../components/script-editor.tsx";
import type { TextName, TextProps } from "../../draft.ts";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";

/** The fields of the start stage that the other stages do not have. */
export type StartFields = Pick<
  NonNullable<Project["stages"]>["start"],
  "previous" | "settleSeconds" | "log" | "switch"
>;

function choices(): { value: StartFields["previous"]; label: string; about: string }[] {
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

interface StartDraft {
  value: StartFields;
  set: (changes: Partial<StartFields>) => void;
  text: (name: TextName<StartFields>, path: string) => TextProps;
  refused: ApiProblem | null;
}

export function StartSettings({
  draft: { value, set, text, refused },
  isChecked,
}: {
  draft: StartDraft;
  /** With a health check, nothing waits for a time. */
  isChecked: boolean;
}) {
  return (
    <>
      <Select
        label={t("stages.previous")}
        description={choices().find((choice) => choice.value === value.previous)?.about}
        data={choices()}
        allowDeselect={false}
        value={value.previous}
        error={refused?.about("stages.start.previous")}
        onChange={(previous) =>
          set({
            previous: (previous ?? "keep") as StartFields["previous"],
            ...(previous === "stop-after-healthy" ? {} : { switch: "" }),
          })
        }
      />
      {value.previous === "stop-after-healthy" && (
        <ScriptEditor
          label={t("stages.switch")}
          description={t("stages.switchHint")}
          placeholder={examples.switch}
          minLines={2}
          {...text("switch", "stages.start.switch")}
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
          error={refused?.about("stages.start.settleSeconds")}
          onChange={(seconds) => set({ settleSeconds: Number(seconds) })}
        />
      )}
      <TextInput
        label={t("stages.log")}
        description={t("stages.logHint")}
        placeholder={examples.log}
        maw={420}
        {...text("log", "stages.start.log")}
      />
    </>
  );
}
