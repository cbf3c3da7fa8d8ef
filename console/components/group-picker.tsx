import { useQuery } from "@tanstack/react-query";
import { useAct } from "../act.ts";
import { answerOf, api } from "../api.ts";
import { groupChoices } from "../group-query.ts";
import { meQuery } from "../session.ts";
import type { Group } from "../shapes.ts";
import { t } from "../text/text.ts";
import { Picker } from "./picker.tsx";

/** A field for the group of a project. Admins may type the name of a new one, and choose none. */
export function GroupPicker({
  groups,
  value,
  onChange,
  ...field
}: {
  label: string;
  description?: string;
  required?: boolean;
  error?: string | undefined;
  groups: Pick<Group, "id" | "name">[];
  value: number | null;
  onChange: (groupId: number | null) => void;
}) {
  const { data: me } = useQuery(meQuery);
  const isAdmin = me?.role === "admin";
  const add = useAct((name: string) => answerOf(api.groups.$post({ json: { name } })), {
    done: ({ name }) => t("groups.added", { name }),
    failed: t("groups.addFailed"),
    refresh: ["groups"],
  });
  return (
    <Picker
      {...field}
      placeholder={t(isAdmin ? "settings.noGroup" : "setUp.chooseGroup")}
      clearable={isAdmin}
      choices={groupChoices(groups)}
      value={value === null ? "" : String(value)}
      onChange={(id) => onChange(id === "" ? null : Number(id))}
      onNew={isAdmin ? async (name) => String((await add.mutateAsync(name)).id) : undefined}
    />
  );
}
