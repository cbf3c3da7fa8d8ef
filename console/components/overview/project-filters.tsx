import { Button, Select } from "@mantine/core";
import { groupChoices, useGroups } from "../../group-query.ts";
import { overviewStates } from "../../overview-query.ts";
import { t } from "../../text/text.ts";

interface Filters {
  groupId: string;
  state: string;
}

/** Group and state of the projects that the overview shows. Loaded on demand. */
export default function ProjectFilters({
  filters: { groupId, state },
  change,
}: {
  filters: Filters;
  change: (values: Partial<Filters>) => void;
}) {
  const groups = useGroups();
  return (
    <>
      <Select
        size="xs"
        aria-label={t("overview.group")}
        placeholder={t("overview.anyGroup")}
        clearable
        searchable
        data={groupChoices(groups)}
        value={groupId || null}
        onChange={(chosen) => change({ groupId: chosen ?? "" })}
      />
      <Select
        size="xs"
        aria-label={t("overview.state")}
        placeholder={t("overview.anyState")}
        clearable
        data={overviewStates.map((each) => ({ value: each, label: t(`overview.state_${each}`) }))}
        value={state || null}
        onChange={(chosen) => change({ state: chosen ?? "" })}
      />
      {(groupId !== "" || state !== "") && (
        <Button size="compact-sm" variant="subtle" onClick={() => change({ groupId: "", state: "" })}>
          {t("overview.clear")}
        </Button>
      )}
    </>
  );
}
