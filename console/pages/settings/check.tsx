import { NumberInput, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";

type Check = NonNullable<Project["pipeline"]["build"][number]["check"]>;

const kinds = ["http", "tcp", "command"] as const;
type Kind = (typeof kinds)[number];

const none: Check = { http: "", tcp: "", command: "", expect: "", within: 60 };

function kindOf(check: Check | null): Kind | undefined {
  return kinds.find((kind) => check !== null && check[kind] !== "");
}

/** How a step or a service shows that it works. `suggested`: what a check of a kind begins with. */
export function CheckFields({
  title,
  value,
  suggested,
  onChange,
  errorOf,
}: {
  title: string;
  value: Check | null;
  suggested: Record<Kind, string>;
  onChange: (check: Check | null) => void;
  errorOf: (field: string) => string | undefined;
}) {
  // A check whose text is deleted keeps its kind.
  const [chosen, setChosen] = useState<Kind>("http");
  const kind = value === null ? "none" : (kindOf(value) ?? chosen);
  const choose = (next: string | null) => {
    const known = kinds.find((each) => each === next);
    if (known !== undefined) setChosen(known);
    onChange(
      known === undefined ? null : { ...none, within: value?.within ?? 60, [known]: suggested[known] },
    );
  };
  return (
    <>
      <Select
        label={t("stages.check")}
        aria-label={t("stages.checkOf", { stage: title })}
        data={[
          { value: "none", label: t("stages.checkNone") },
          { value: "http", label: t("stages.healthHttp") },
          { value: "tcp", label: t("stages.healthTcp") },
          { value: "command", label: t("stages.healthCommand") },
        ]}
        allowDeselect={false}
        value={kind}
        error={errorOf("check")}
        onChange={choose}
      />
      {value !== null && kind !== "none" && (
        <TextInput
          label={t(`stages.check_${kind}`)}
          className={kind === "command" ? "script" : ""}
          value={value[kind]}
          error={errorOf(`check.${kind}`)}
          onChange={(event) => onChange({ ...value, [kind]: event.currentTarget.value })}
        />
      )}
      {value !== null && kind === "http" && (
        <TextInput
          label={t("stages.healthExpect")}
          description={t("stages.healthExpectHint")}
          placeholder={t("stages.healthExpectAny")}
          value={value.expect}
          error={errorOf("check.expect")}
          onChange={(event) => onChange({ ...value, expect: event.currentTarget.value })}
        />
      )}
      {value !== null && (
        <NumberInput
          label={t("stages.healthTimeout")}
          description={t("stages.healthTimeoutHint")}
          suffix={t("words.secondsSuffix")}
          min={0}
          max={3600}
          maw={220}
          value={value.within}
          error={errorOf("check.within")}
          onChange={(seconds) => onChange({ ...value, within: Number(seconds) })}
        />
      )}
    </>
  );
}
