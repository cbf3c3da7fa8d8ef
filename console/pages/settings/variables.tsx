import { TextInput } from "@mantine/core";
import type { ApiProblem } from "../../api.ts";
import { Panel } from "../../components/page.tsx";
import type { SettingsForm } from "../../draft.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { DotEnvButton } from "./dot-env-button.tsx";
import { RowsForm } from "./rows-form.tsx";

const exampleName = "NODE_ENV";

interface Variable {
  name: string;
  value: string;
}

interface WithVariables {
  env: Record<string, string>;
}

function variablesOf({ env }: WithVariables): Variable[] {
  return Object.entries(env).map(([name, value]) => ({ name, value }));
}

/** Rows that would be dropped or overwritten silently are errors. */
function faultOf(rows: Variable[], index: number, refused: ApiProblem | null): string | undefined {
  const row = rows[index];
  if (row === undefined) return undefined;
  if (row.name === "") return t("variables.nameMissing");
  if (rows.findIndex(({ name }) => name === row.name) < index) return t("variables.nameTaken");
  return refused?.about(`env.${row.name}`);
}

/** Plain variables of the scripts, of a project or of all projects of a group, saved as a whole. */
export function VariableSettings({
  form,
  about,
}: {
  form: SettingsForm<WithVariables & { revision: string }, WithVariables>;
  about: string;
}) {
  return (
    <Panel title={t("variables.title")} about={about}>
      <RowsForm
        form={form}
        rowsOf={variablesOf}
        fresh={{ name: "", value: "" }}
        changeOf={(rows) => ({
          env: Object.fromEntries(rows.map(({ name, value }) => [name, value])),
        })}
        faultOf={faultOf}
        addLabel={t("variables.add")}
        removeLabelOf={({ name }) =>
          t("variables.remove", { name: visible(name) || t("variables.theVariable") })
        }
        failure={t("variables.notSaved")}
        label={t("variables.title")}
        extra={(rows, replace) => (
          <DotEnvButton rows={rows.filter(({ name, value }) => name + value !== "")} onRead={replace} />
        )}
      >
        {(row, change, fault) => (
          <>
            <TextInput
              aria-label={t("variables.name")}
              placeholder={exampleName}
              className="script"
              style={{ flex: "0 1 220px" }}
              value={row.name}
              error={fault}
              onChange={(event) => change({ ...row, name: event.currentTarget.value })}
            />
            <TextInput
              aria-label={t("variables.valueOf", { name: visible(row.name) || t("variables.theVariable") })}
              style={{ flex: "1 1 140px" }}
              value={row.value}
              onChange={(event) => change({ ...row, value: event.currentTarget.value })}
            />
          </>
        )}
      </RowsForm>
    </Panel>
  );
}
