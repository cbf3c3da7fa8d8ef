import { Text, TextInput } from "@mantine/core";
import { Link } from "wouter";
import type { ApiProblem } from "../../api.ts";
import { Panel } from "../../components/page.tsx";
import type { Project } from "../../shapes.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { DotEnvButton } from "./dot-env-button.tsx";
import { portOf } from "./health-check.tsx";
import { RowsForm } from "./rows-form.tsx";

const exampleName = "NODE_ENV";

interface Variable {
  name: string;
  value: string;
}

function variablesOf({ env }: Project): Variable[] {
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

/** The service listens on another port than the health check asks. */
function OtherPort({ rows, project }: { rows: Variable[]; project: Project }) {
  const port = rows.find(({ name }) => name === "PORT")?.value ?? "";
  const checked = portOf(project.pipeline.start[0]?.healthCheck ?? null);
  if (port === "" || checked === null || checked === port) return null;
  return (
    <Text size="sm" className="note" m={0} w="100%" role="status">
      {rich("variables.otherPort", {
        port,
        checked,
        link: <Link href={`/projects/${project.id}/settings/stages`}>{t("variables.toCheck")}</Link>,
      })}
    </Text>
  );
}

/** Plain variables of the scripts, saved as a whole. */
export function EnvironmentSettings({ project }: { project: Project }) {
  return (
    <Panel title={t("variables.title")} about={t("variables.about")}>
      <RowsForm
        project={project}
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
          <>
            <DotEnvButton rows={rows.filter(({ name, value }) => name + value !== "")} onRead={replace} />
            <OtherPort rows={rows} project={project} />
          </>
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
