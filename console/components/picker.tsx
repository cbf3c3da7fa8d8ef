import { Select, type SelectProps } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { complain } from "../act.ts";
import { t } from "../text/text.ts";

/** A choice whose value is no id of what exists. */
const newOne = "+";

/** A field that chooses one of what exists, found by typing a part of its name. With `onNew`, the typed name may become a new one. */
export function Picker({
  value,
  choices,
  onChange,
  onSearch,
  onNew,
  ...field
}: Pick<
  SelectProps,
  "label" | "placeholder" | "size" | "required" | "clearable" | "className" | "aria-label"
> & {
  description?: ReactNode;
  error?: ReactNode;
  /** Empty: none is chosen. */
  value: string;
  choices: { value: string; label: string }[];
  onChange: (value: string) => void;
  /** The server searches; otherwise the choices are searched. */
  onSearch?: (text: string) => void;
  /** Creates what has the typed name, and answers with its value. */
  onNew?: ((name: string) => Promise<string>) | undefined;
}) {
  const [typed, setTyped] = useState("");
  const name = typed.trim();
  const isNew = name !== "" && !choices.some(({ label }) => label.toLowerCase() === name.toLowerCase());
  const added = onNew !== undefined && isNew ? [{ value: newOne, label: t("form.addNamed", { name }) }] : [];
  const choose = async (chosen: string | null) =>
    onChange(chosen === newOne && onNew !== undefined ? await onNew(name) : (chosen ?? ""));
  return (
    <Select
      {...field}
      allowDeselect={false}
      searchable
      data={[...choices, ...added]}
      filter={({ options, search }) =>
        onSearch !== undefined
          ? options
          : options.filter(
              (option) =>
                "value" in option &&
                (option.value === newOne || option.label.toLowerCase().includes(search.trim().toLowerCase())),
            )
      }
      nothingFoundMessage={t("form.nothingFound")}
      value={value || null}
      onChange={(chosen) => void choose(chosen).catch(complain)}
      onSearchChange={(text) => {
        setTyped(text);
        onSearch?.(text);
      }}
    />
  );
}
