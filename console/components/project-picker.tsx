import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { projectNamesQuery, useProjectName } from "../project-names.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { Picker } from "./picker.tsx";

const typingMs = 150;

/** A field that chooses a project. The server searches the names, so that it works with any number of projects. */
export function ProjectPicker({
  value,
  onChange,
}: {
  /** Its id; empty: any project. */
  value: string;
  onChange: (id: string) => void;
}) {
  const [text, setText] = useState("");
  const [wanted] = useDebouncedValue(text, typingMs);
  const chosenName = useProjectName(value);
  const names = useQuery(projectNamesQuery(wanted === chosenName ? "" : wanted));
  const found = (names.data?.items ?? []).map(({ id, name }) => ({
    value: String(id),
    label: visible(name),
  }));
  const isListed = found.some((choice) => choice.value === value);
  const own =
    value === "" || isListed
      ? []
      : [{ value, label: visible(chosenName ?? t("project.unnamed", { id: value })) }];
  return (
    <Picker
      label={t("tasks.project")}
      placeholder={t("tasks.projectHint")}
      clearable
      choices={[...own, ...found]}
      value={value}
      onChange={onChange}
      onSearch={setText}
      className="wide"
    />
  );
}
