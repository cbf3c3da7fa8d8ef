import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { projectNamesQuery, useProjectName } from "../project-names.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

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
    <Select
      label={t("tasks.project")}
      placeholder={t("tasks.projectHint")}
      clearable
      searchable
      data={[...own, ...found]}
      // The server has searched already.
      filter={({ options }) => options}
      nothingFoundMessage={t("tasks.projectNone")}
      value={value || null}
      onChange={(id) => onChange(id ?? "")}
      onSearchChange={setText}
      className="wide"
    />
  );
}
