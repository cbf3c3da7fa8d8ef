import { ActionIcon, Button, Checkbox, NumberInput, Group as Row, Select, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { Icon } from "../../components/icon.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { ScriptEditor } from "../../components/script-editor.tsx";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { CheckFields } from "./check.tsx";
import { ServicePort } from "./service-port.tsx";
import { ServiceRoutes } from "./service-routes.tsx";
import { ServiceVariables } from "./service-variables.tsx";

type Service = Exclude<Project["pipeline"]["start"], unknown[]>[string];
export type NamedService = { name: string } & Service;
type Field = keyof NamedService;

/** The values of a service that was just added. A field of the schema that is missing here is a type error. */
const fresh: NamedService = {
  ...{ name: "web", command: "", background: false, directory: "", env: {}, port: "$PORT", check: null },
  ...{ restart: "always", limits: { memoryMb: null, cpus: null, processes: null }, drain: 30, stopGrace: 10 },
  ...{ image: "", network: "bridge", switch: "", switchOnHost: false, routes: [] },
};

/** Their fields have one order, so that forms compare equal. */
export function shownServices(services: Record<string, Service>): NamedService[] {
  return Object.entries(services).map(([name, service]) => {
    const entries = Object.keys(fresh).map((field) => [field, service[field as keyof Service]]);
    return { ...(Object.fromEntries(entries) as Service), name };
  });
}

export function storedServices(services: NamedService[]): Record<string, Service> {
  return Object.fromEntries(services.map(({ name, ...service }) => [name, service]));
}

/** Two services with one name would be one. */
export function isNameTaken(services: NamedService[], at: number): boolean {
  return services.findIndex(({ name }) => name === services[at]?.name) < at;
}

const examples = {
  command: "node dist/server.js",
  switch: 'sed "s/@PORT@/$PORT/" upstream.conf >/etc/nginx/conf.d/shop.conf\nnginx -s reload',
};
const suggestedCheck = { http: "/", tcp: "$PORT", command: "" };

interface FieldProps {
  service: NamedService;
  isAdmin: boolean;
  error: string | undefined;
  /** What the server says about a part of the field. */
  errorOf: (field: string) => string | undefined;
  change: (change: Partial<NamedService>) => void;
}

const small = { size: "xs", style: { flex: "1 1 140px" } } as const;

/** A field of the schema without an editor is a type error. */
const editors: Record<Field, (props: FieldProps) => ReactNode> = {
  name: ({ service: { name }, error, change }) => (
    <TextInput
      {...small}
      label={t("stages.stepName")}
      aria-label={t("serviceForm.nameOf", { name })}
      value={name}
      error={error}
      onChange={(event) => change({ name: event.currentTarget.value })}
    />
  ),
  command: ({ service: { name, command }, error, change }) => (
    <div style={{ flex: "1 1 100%" }}>
      <ScriptEditor
        label={name}
        description={t("serviceForm.commandHint")}
        placeholder={examples.command}
        minLines={1}
        value={command}
        error={error}
        onChange={(event) => change({ command: event.currentTarget.value })}
      />
    </div>
  ),
  port: ({ service: { name, port }, error, change }) => (
    <ServicePort
      service={name}
      port={port}
      error={error}
      onChange={(changed) =>
        change({ port: changed, ...(changed === "$PORT" ? {} : { switch: "", switchOnHost: false }) })
      }
    />
  ),
  check: ({ service: { name, check }, errorOf, change }) => (
    <div className="form" style={{ flex: "1 1 100%" }}>
      <CheckFields
        title={name}
        value={check}
        suggested={suggestedCheck}
        onChange={(changed) => change({ check: changed })}
        errorOf={errorOf}
      />
    </div>
  ),
  routes: ({ service: { name, port, routes }, error, errorOf, change }) =>
    (port !== "none" || routes.length > 0) && (
      <ServiceRoutes
        service={name}
        routes={routes}
        error={error}
        errorOf={(part) => errorOf(`routes.${part}`)}
        onChange={(changed) => change({ routes: changed })}
      />
    ),
  directory: ({ service: { name, directory }, error, change }) => (
    <TextInput
      {...small}
      label={t("stages.folder")}
      aria-label={t("stages.folderOf", { stage: name })}
      placeholder={t("stages.folderRoot")}
      value={directory}
      error={error}
      onChange={(event) => change({ directory: event.currentTarget.value })}
    />
  ),
  restart: ({ service: { name, restart }, change }) => (
    <Select
      {...small}
      label={t("serviceForm.restart")}
      aria-label={t("serviceForm.restartOf", { name })}
      data={(["always", "on-failure", "never"] as const).map((value) => ({
        value,
        label: t(`serviceForm.restart_${value}`),
      }))}
      allowDeselect={false}
      value={restart}
      onChange={(rule) => rule && change({ restart: rule as Service["restart"] })}
    />
  ),
  drain: ({ service: { name, drain }, error, change }) => (
    <NumberInput
      {...small}
      label={t("serviceForm.drain")}
      aria-label={t("serviceForm.drainOf", { name })}
      suffix={t("words.secondsSuffix")}
      min={0}
      max={3600}
      value={drain}
      error={error}
      onChange={(seconds) => change({ drain: Number(seconds) })}
    />
  ),
  stopGrace: ({ service: { name, stopGrace }, error, change }) => (
    <NumberInput
      {...small}
      label={t("serviceForm.stopGrace")}
      aria-label={t("serviceForm.stopGraceOf", { name })}
      suffix={t("words.secondsSuffix")}
      min={0}
      max={3600}
      value={stopGrace}
      error={error}
      onChange={(seconds) => change({ stopGrace: Number(seconds) })}
    />
  ),
  image: ({ service: { name, image }, error, change }) => (
    <TextInput
      {...small}
      label={t("stages.image")}
      aria-label={t("execution.imageOf", { stage: name })}
      placeholder={t("execution.imageOfProject")}
      value={image}
      error={error}
      onChange={(event) => change({ image: event.currentTarget.value })}
    />
  ),
  limits: ({ service: { name, limits }, errorOf, change }) =>
    (["memoryMb", "cpus", "processes"] as const).map((limit) => (
      <NumberInput
        key={limit}
        {...small}
        label={t(`serviceForm.limit_${limit}`)}
        aria-label={t("serviceForm.limitOf", { limit: t(`serviceForm.limit_${limit}`), name })}
        placeholder={t("serviceForm.limitOfProject")}
        value={limits[limit] ?? ""}
        error={errorOf(`limits.${limit}`)}
        onChange={(value) => change({ limits: { ...limits, [limit]: value === "" ? null : Number(value) } })}
      />
    )),
  env: ({ service: { name, env }, errorOf, change }) => (
    <ServiceVariables
      service={name}
      env={env}
      onChange={(changed) => change({ env: changed })}
      errorOf={(variable) => errorOf(`env.${variable}`)}
    />
  ),
  network: ({ service: { name, network }, change }) => (
    <Checkbox
      size="xs"
      label={t("execution.offline")}
      aria-label={t("execution.offlineOf", { stage: name })}
      checked={network === "none"}
      onChange={(event) => change({ network: event.currentTarget.checked ? "none" : "bridge" })}
    />
  ),
  background: ({ service: { name, background }, change }) =>
    background && (
      <Checkbox
        size="xs"
        label={t("serviceForm.background")}
        aria-label={t("serviceForm.backgroundOf", { name })}
        checked
        onChange={() => change({ background: false })}
      />
    ),
  switch: ({ service, error, change }) =>
    service.port === "$PORT" && (
      <div style={{ flex: "1 1 100%" }}>
        <ScriptEditor
          label={t("stages.switch")}
          description={t("stages.switchHint")}
          placeholder={examples.switch}
          minLines={2}
          value={service.switch}
          error={error}
          onChange={(event) => change({ switch: event.currentTarget.value })}
        />
      </div>
    ),
  switchOnHost: ({ service: { name, port, switchOnHost }, isAdmin, change }) =>
    port === "$PORT" &&
    (isAdmin || switchOnHost) && (
      <Checkbox
        size="xs"
        label={t("serviceForm.switchOnHost")}
        aria-label={t("serviceForm.switchOnHostOf", { name })}
        checked={switchOnHost}
        disabled={!isAdmin}
        onChange={(event) => change({ switchOnHost: event.currentTarget.checked })}
      />
    ),
};

/** The places of the editors, in rows; those that few need are folded. */
const rows: Field[][] = [["command"], ["name", "port", "directory"], ["background"], ["check"], ["routes"]];
const folded: Field[][] = [
  ["restart", "drain", "stopGrace"],
  ["image", "network"],
  ["limits"],
  ["env"],
  ["switch", "switchOnHost"],
];

export interface ServicesProps {
  services: NamedService[];
  onChange: (services: NamedService[]) => void;
  isAdmin: boolean;
  /** What the server says about a field of a service: `pipeline.start.web.command`. */
  errorOf: (path: string) => string | undefined;
}

/** The services of start, as cards. */
export function ServiceCards({ services, onChange, isAdmin, errorOf }: ServicesProps) {
  const add = () => {
    const names = services.map(({ name }) => name);
    const free = ["web", "worker", ...Array.from({ length: 20 }, (_, index) => `service-${index + 1}`)];
    const name = free.find((each) => !names.includes(each)) ?? "";
    onChange([...services, { ...fresh, name, port: services.length === 0 ? "$PORT" : "none" }]);
  };
  const replaced = (at: number, ...others: NamedService[]) => onChange(services.toSpliced(at, 1, ...others));
  return (
    <div className="script">
      {[...services.entries()].map(([at, service]) => {
        const lineOf = (fields: Field[]) => (
          <Row key={fields.join()} gap={8} mt={8} align="end">
            {fields.map((field) => {
              const Editor = editors[field];
              const path = `pipeline.start.${service.name}`;
              const taken =
                field === "name" && isNameTaken(services, at) ? t("serviceForm.nameTaken") : undefined;
              return (
                <Editor
                  key={field}
                  service={service}
                  isAdmin={isAdmin}
                  error={taken ?? errorOf(field === "name" ? path : `${path}.${field}`)}
                  errorOf={(part) => errorOf(`${path}.${part}`)}
                  change={(change) => replaced(at, { ...service, ...change })}
                />
              );
            })}
          </Row>
        );
        return (
          <section
            key={`service ${String(at)}`}
            className="step"
            aria-label={t("serviceForm.cardOf", { name: service.name })}
          >
            {rows.map(lineOf)}
            <details style={{ marginTop: 8 }}>
              <summary>{t("serviceForm.more")}</summary>
              {folded.map(lineOf)}
            </details>
            <ForManagers>
              <Row justify="end">
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={t("serviceForm.remove", { name: service.name })}
                  onClick={() => replaced(at)}
                >
                  <Icon name="bin" size={16} />
                </ActionIcon>
              </Row>
            </ForManagers>
          </section>
        );
      })}
      <ForManagers>
        <Button
          mt={8}
          variant="default"
          size="compact-sm"
          leftSection={<Icon name="plus" size={14} />}
          onClick={add}
        >
          {t("serviceForm.add")}
        </Button>
      </ForManagers>
    </div>
  );
}
