import { NumberInput, Select, TextInput } from "@mantine/core";
import { t } from "../../text/text.ts";
import type { StartStep } from "./steps.tsx";

export type HealthCheck = NonNullable<StartStep["healthCheck"]>;

/** A check of another kind: with the host, port and time limit of the one before. */
function changedTo(kind: string | null, before: HealthCheck | null): HealthCheck | null {
  const { host, port } = placeOf(before);
  const timeoutSeconds = before?.timeoutSeconds ?? 60;
  if (kind === "http") return { type: "http", url: `http://${host}:${port}/`, timeoutSeconds };
  if (kind === "tcp")
    return { type: "tcp", host, port: port === "$PORT" ? port : Number(port), timeoutSeconds };
  return kind === "command" ? { type: "command", command: "", timeoutSeconds } : null;
}

/** Where a check connects to. */
function placeOf(check: HealthCheck | null): { host: string; port: string } {
  if (check?.type === "tcp") return { host: check.host, port: String(check.port) };
  const [, host, port] =
    check?.type === "http" ? (/^https?:\/\/([^/:]+):(\d+|\$PORT)/.exec(check.url) ?? []) : [];
  return { host: host ?? "127.0.0.1", port: port ?? "8080" };
}

/** The fixed port of a check; null: none, or that of the variable. */
export function portOf(check: HealthCheck | null): string | null {
  const isConnecting = check?.type === "tcp" || check?.type === "http";
  const { port } = placeOf(check);
  return isConnecting && port !== "$PORT" ? port : null;
}

/** How a started service proves that it works. */
export function HealthCheckFields({
  value,
  onChange,
  errorOf,
}: {
  value: HealthCheck | null;
  onChange: (check: HealthCheck | null) => void;
  errorOf: (field: string) => string | undefined;
}) {
  return (
    <>
      <Select
        label={t("stages.health")}
        data={[
          { value: "none", label: t("stages.healthNone") },
          { value: "http", label: t("stages.healthHttp") },
          { value: "tcp", label: t("stages.healthTcp") },
          { value: "command", label: t("stages.healthCommand") },
        ]}
        allowDeselect={false}
        value={value?.type ?? "none"}
        onChange={(kind) => onChange(changedTo(kind, value))}
      />
      {value?.type === "http" && (
        <TextInput
          label={t("stages.healthUrl")}
          value={value.url}
          error={errorOf("url")}
          onChange={(event) => onChange({ ...value, url: event.currentTarget.value })}
        />
      )}
      {value?.type === "http" && (
        <TextInput
          label={t("stages.healthExpect")}
          description={t("stages.healthExpectHint")}
          placeholder={t("stages.healthExpectAny")}
          value={value.expect ?? ""}
          error={errorOf("expect")}
          onChange={(event) => {
            const { expect: _, ...rest } = value;
            const expect = event.currentTarget.value;
            onChange(expect === "" ? rest : { ...rest, expect });
          }}
        />
      )}
      {value?.type === "tcp" && (
        <TextInput
          label={t("stages.healthHostPort")}
          value={`${value.host}:${value.port}`}
          error={errorOf("host") ?? errorOf("port")}
          onChange={(event) => {
            const [host = "", port = ""] = event.currentTarget.value.split(/:(?=\d*$|\$PORT$)/);
            onChange({ ...value, host, port: port === "$PORT" ? port : Number(port) });
          }}
        />
      )}
      {value?.type === "command" && (
        <TextInput
          label={t("stages.healthCommandLine")}
          className="script"
          value={value.command}
          error={errorOf("command")}
          onChange={(event) => onChange({ ...value, command: event.currentTarget.value })}
        />
      )}
      {value && (
        <NumberInput
          label={t("stages.healthTimeout")}
          description={t("stages.healthTimeoutHint")}
          suffix=" s"
          min={1}
          maw={220}
          value={value.timeoutSeconds ?? ""}
          error={errorOf("timeoutSeconds")}
          onChange={(seconds) => onChange({ ...value, timeoutSeconds: Number(seconds) })}
        />
      )}
    </>
  );
}
