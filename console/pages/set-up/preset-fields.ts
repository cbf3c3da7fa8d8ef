import { type StageName, stageNames } from "../../../src/model/stage/stage-name.ts";
import { t } from "../../text/text.ts";
import type { Preset } from "./repository-step.tsx";

/** The scripts of a new project, which a preset suggests. */
export interface Scripts extends Record<StageName, string> {
  /** The commands of services, by name. */
  services: Record<string, string>;
  /** Where users reach the first service; empty: it gets no route. */
  domain: string;
}

export function scriptPath(name: StageName): string {
  return `pipeline.${name}.0.script`;
}

export function presetTitles(): Record<Preset["name"], string> {
  return {
    procfile: t("setUp.preset_procfile"),
    compose: t("setUp.preset_compose"),
    dockerfile: t("setUp.preset_dockerfile"),
    node: t("setUp.preset_node"),
    "node-static": t("setUp.preset_node_static"),
    maven: t("setUp.preset_maven"),
    gradle: t("setUp.preset_gradle"),
    go: t("setUp.preset_go"),
    static: t("setUp.preset_static"),
  };
}

/** What the checks of a preset ask, as people read it. */
export function checksOf({ services, check }: Preset): string[] {
  const asked = Object.entries(services).map(([name, service]) => ({
    name,
    port: service.port,
    ...service.check,
  }));
  return [...asked, { name: "", port: "none", ...check }].flatMap(({ name, port, http, tcp, command }) => {
    const what = http || tcp || command || "";
    return what === "" ? [] : [[name, what.replace("$PORT", String(port))].filter(Boolean).join(" ")];
  });
}

export function scriptsOf(preset: Preset | undefined): Scripts {
  const scripts = stageNames.map((name) => [name, preset?.[name] ?? ""]);
  const commands = Object.entries(preset?.services ?? {}).map(([name, { command }]) => [name, command]);
  return {
    ...(Object.fromEntries(scripts) as Record<StageName, string>),
    services: preset === undefined ? { web: "" } : Object.fromEntries(commands),
    domain: "",
  };
}

/** With services, `start` has no steps. */
export function pipelineOf(
  scripts: Scripts,
  preset: Preset | undefined,
  { isChecked, hostStages }: { isChecked: boolean; hostStages: Preset["hostStages"] },
) {
  const steps = (stage: StageName) => {
    const host = hostStages.some((each) => each === stage) ? { host: true } : {};
    return scripts[stage] === "" ? [] : [{ script: scripts[stage], ...host }];
  };
  const commands = Object.entries(scripts.services).filter(([, command]) => command.trim() !== "");
  const domains = [scripts.domain.trim()].filter(Boolean);
  const services = commands.map(([service, command], index) => {
    const suggested = preset?.services[service];
    const check = (isChecked && suggested?.check) || null;
    const routes = index === 0 && domains.length > 0 ? [{ domains }] : [];
    return [service, { ...suggested, command, check, routes }] as const;
  });
  const check = (isChecked && preset?.check) || null;
  const start =
    services.length > 0 ? Object.fromEntries(services) : steps("start").map((step) => ({ ...step, check }));
  return { build: steps("build"), deploy: steps("deploy"), start };
}
