import { ActionIcon, Button, Group as Row, TextInput } from "@mantine/core";
import { useState } from "react";
import { Icon } from "../../components/icon.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { t } from "../../text/text.ts";

interface Variable {
  name: string;
  value: string;
}

function rowsOf(env: Record<string, string>): Variable[] {
  return Object.entries(env).map(([name, value]) => ({ name, value }));
}

function envOf(rows: Variable[]): Record<string, string> {
  return Object.fromEntries(rows.filter(({ name }) => name !== "").map(({ name, value }) => [name, value]));
}

/** The variables of one service. A row without a name, or with the name of another one, is only shown. */
export function ServiceVariables({
  service,
  env,
  onChange,
  errorOf,
}: {
  service: string;
  env: Record<string, string>;
  onChange: (env: Record<string, string>) => void;
  errorOf: (variable: string) => string | undefined;
}) {
  const [typed, setTyped] = useState(() => rowsOf(env));
  // The form was reset, or another user has saved.
  const rows = JSON.stringify(envOf(typed)) === JSON.stringify(env) ? typed : rowsOf(env);
  const change = (next: Variable[]) => {
    setTyped(next);
    onChange(envOf(next));
  };
  return (
    <div style={{ flex: "1 1 100%" }}>
      {[...rows.entries()].map(([at, row]) => (
        <Row key={`variable ${String(at)}`} gap={8} mt={4} align="end">
          <TextInput
            size="xs"
            className="script"
            style={{ flex: "0 1 200px" }}
            aria-label={t("serviceForm.variableName", { name: service })}
            value={row.name}
            error={errorOf(row.name)}
            onChange={(event) => change(rows.with(at, { ...row, name: event.currentTarget.value }))}
          />
          <TextInput
            size="xs"
            style={{ flex: "1 1 140px" }}
            aria-label={t("serviceForm.variableValue", { variable: row.name, name: service })}
            value={row.value}
            onChange={(event) => change(rows.with(at, { ...row, value: event.currentTarget.value }))}
          />
          <ForManagers>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={t("serviceForm.removeVariable", { variable: row.name, name: service })}
              onClick={() => change(rows.toSpliced(at, 1))}
            >
              <Icon name="bin" size={16} />
            </ActionIcon>
          </ForManagers>
        </Row>
      ))}
      <ForManagers>
        <Button
          mt={4}
          variant="subtle"
          size="compact-sm"
          onClick={() => setTyped([...rows, { name: "", value: "" }])}
        >
          {t("serviceForm.addVariable", { name: service })}
        </Button>
      </ForManagers>
    </div>
  );
}
