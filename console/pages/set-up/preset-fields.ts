import { type StageName, stageNames } from "../../../src/model/stage/stage-name.ts";
import { t } from "../../text/text.ts";
import type { Preset } from "./repository-step.tsx";

/** The scripts of a new project, which a preset suggests. */
export interface Scripts extends Record<StageName, string> {
  /** The commands of services, by name. */
  services: Record<string, string>;
  /** Where they listen, by name: a number, or "$PORT" for a free one. */
  ports: Record<string, string>;
  /** The variables that the scripts use. */
  env: Record<string, string>;
  /** Where users reach the first service; empty: it gets no route. */
  domain: string;
}

/** Several presets may have one name, in several folders. */
export function presetKey({ name, because }: Preset): string {
  return `${name} ${because}`;
}

/** With programs in several folders, only the user knows which one is meant: null. */
export function bestPreset(presets: readonly Preset[]): Preset | null | undefined {
  const [first] = presets;
  const isClear = first === undefined || presets.every(({ folder }) => folder === first.folder);
  return isClear || first.folder === "" ? first : null;
}

export function scriptPath(name: StageName): string {
  return `pipeline.${name}.0.script`;
}

/** What a variable of a preset is for; others explain themselves. */
export function variableHint(name: string): string | undefined {
  if (name === "OUTPUT_DIR") return t("setUp.outputFolder");
  if (name === "SITE_DIR") return t("setUp.siteFolder");
  if (name === "MAIN_PACKAGE") return t("setUp.mainPackage");
  return undefined;
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
export function checksOf({ services, check }: Preset, ports: Scripts["ports"]): string[] {
  const asked = Object.entries(services).map(([name, service]) => ({
    name,
    port: ports[name] ?? "",
    ...service.check,
  }));
  return [...asked, { name: "", port: "", ...check }].flatMap(({ name, port, http, tcp, command }) => {
    const asked = (what: string) => what.replace("$PORT", () => port);
    const program = name || t("setUp.checkedProgram");
    if (http) return [t("setUp.checkAddress", { name: program, address: asked(http) })];
    if (tcp && /^(\$PORT|\d+)$/.test(tcp)) return [t("setUp.checkPort", { name: program, port: asked(tcp) })];
    if (tcp) return [t("setUp.checkAddress", { name: program, address: asked(tcp) })];
    return command ? [t("setUp.checkCommand", { name: program, command })] : [];
  });
}

export function scriptsOf(preset: Preset | null | undefined): Scripts {
  const scripts = stageNames.map((name) => [name, preset?.[name] ?? ""]);
  const commands = Object.entries(preset?.services ?? {}).map(([name, { command }]) => [name, command]);
  return {
    ...(Object.fromEntries(scripts) as Record<StageName, string>),
    services: preset ? Object.fromEntries(commands) : { web: "" },
    ports: Object.fromEntries(
      Object.entries(preset?.services ?? {}).flatMap(([name, { port }]) =>
        port === "none" ? [] : [[name, String(port)]],
      ),
    ),
    env: preset?.env ?? {},
    domain: "",
  };
}

/** With services, `start` has no steps. */
export function pipelineOf(
  scripts: Omit<Scripts, "env">,
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
    const port = portOf(scripts.ports[service]);
    return [service, { ...suggested, ...port, command, check, routes }] as const;
  });
  const check = (isChecked && preset?.check) || null;
  const start =
    services.length > 0 ? Object.fromEntries(services) : steps("start").map((step) => ({ ...step, check }));
  return { build: steps("build"), deploy: steps("deploy"), start };
}

/** Any other text is refused by the server, at its field. */
function portOf(typed: string | undefined): { port?: number | "$PORT" } {
  if (typed === undefined) return {};
  return { port: typed.trim() === "$PORT" ? "$PORT" : Number(typed) };
}
