import { NumberInput, Select } from "@mantine/core";
import { t } from "../../text/text.ts";

type Port = number | "$PORT" | "none";

const small = { size: "xs", style: { flex: "1 1 140px" } } as const;
const firstFixedPort = 8080;

/** The port of a service: chosen by the runner, a number, or none. */
export function ServicePort({
  service: name,
  port,
  error,
  onChange,
}: {
  service: string;
  port: Port;
  error: string | undefined;
  onChange: (port: Port) => void;
}) {
  return (
    <>
      <Select
        {...small}
        label={t("serviceForm.port")}
        aria-label={t("serviceForm.portOf", { name })}
        data={[
          { value: "$PORT", label: t("serviceForm.portChosen") },
          { value: "fixed", label: t("serviceForm.portFixed") },
          { value: "none", label: t("serviceForm.portNone") },
        ]}
        allowDeselect={false}
        value={typeof port === "number" ? "fixed" : port}
        error={typeof port === "number" ? undefined : error}
        onChange={(kind) => onChange(kind === "fixed" ? firstFixedPort : kind === "none" ? "none" : "$PORT")}
      />
      {typeof port === "number" && (
        <NumberInput
          {...small}
          label={t("serviceForm.portNumber")}
          aria-label={t("serviceForm.portNumberOf", { name })}
          min={1}
          max={65_535}
          value={port}
          error={error}
          onChange={(number) => onChange(Number(number))}
        />
      )}
    </>
  );
}
