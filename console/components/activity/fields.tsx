import { Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { type ActivityFilters, outcomes, triggers } from "../../activity-filters.ts";
import { t } from "../../text/text.ts";
import { ProjectPicker } from "../project-picker.tsx";

/** Without it browsers let years of six digits be typed, which are no times to JavaScript. */
const lastTime = "9999-12-31T23:59";

/** A field for each filter of the list. */
export function Fields({
  filters,
  change,
  hasProject,
  authors,
}: {
  filters: ActivityFilters;
  change: (values: Partial<ActivityFilters>) => void;
  hasProject: boolean;
  authors: string[];
}) {
  return (
    <>
      {hasProject && (
        <ProjectPicker value={filters.projectId} onChange={(projectId) => change({ projectId })} />
      )}
      <Select
        label={t("activity.outcome")}
        placeholder={t("words.any")}
        clearable
        data={outcomes.map((outcome) => ({ value: outcome, label: t(`state.${outcome}`) }))}
        value={filters.outcome || null}
        onChange={(outcome) => change({ outcome: outcome ?? "" })}
      />
      <Select
        label={t("activity.trigger")}
        placeholder={t("words.any")}
        clearable
        data={triggers.map((trigger) => ({ value: trigger, label: t(`activity.trigger_${trigger}`) }))}
        value={filters.trigger || null}
        onChange={(trigger) => change({ trigger: trigger ?? "" })}
      />
      <TypedFilter
        label={t("words.search")}
        placeholder={t("activity.searchHint")}
        value={filters.search}
        onChange={(search) => change({ search })}
      />
      <TypedFilter
        label={t("activity.author")}
        placeholder={t("activity.authorHint")}
        value={filters.author}
        choices={authors}
        onChange={(author) => change({ author })}
      />
      {(["from", "to"] as const).map((name) => (
        <TextInput
          key={name}
          label={t(`activity.${name}`)}
          className="wide"
          type="datetime-local"
          max={lastTime}
          value={filters[name]}
          onChange={(event) => change({ [name]: event.currentTarget.value })}
        />
      ))}
    </>
  );
}

/** A text that must match as a whole: it filters when it is confirmed, not with each letter. */
function TypedFilter({
  label,
  placeholder,
  value,
  choices = [],
  onChange,
}: {
  label: string;
  placeholder: string;
  value: string;
  choices?: string[];
  onChange: (value: string) => void;
}) {
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  const confirm = () => {
    if (typed.trim() !== value) onChange(typed.trim());
  };
  const listId = `choices-${label.replaceAll(/\s/g, "-")}`;
  return (
    <>
      <TextInput
        label={label}
        placeholder={placeholder}
        value={typed}
        // With a list it would be a combobox to screen readers.
        {...(choices.length > 0 ? { list: listId } : {})}
        maxLength={250}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onBlur={confirm}
        onKeyDown={(event) => event.key === "Enter" && confirm()}
      />
      <datalist id={listId}>
        {choices
          .filter((choice) => choice !== "")
          .map((choice) => (
            <option key={choice} value={choice} />
          ))}
      </datalist>
    </>
  );
}
