import { join } from "node:path";

export interface ComposeService {
  command?: string[];
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string; required?: boolean }>;
  profiles?: string[];
  volumes?: string[];
  networks?: string[];
  ports?: string[];
  read_only?: boolean;
  tmpfs?: string[];
  cap_drop?: string[];
  security_opt?: string[];
  healthcheck?: { test: string[] };
  [key: string]: unknown;
}

export interface Compose {
  services: Record<string, ComposeService>;
  networks: Record<string, unknown>;
  volumes: Record<string, unknown>;
  [key: string]: unknown;
}

export const deployFolder = join(import.meta.dir, "../../deploy");

/** A compose file of deploy/ as it is written; merges are done by the YAML parser. */
export async function readCompose(file: `compose${"" | "-push" | "-cluster"}.yaml`): Promise<Compose> {
  return Bun.YAML.parse(await Bun.file(join(deployFolder, file)).text()) as Compose;
}

/** Replaces `${NAME}`, `${NAME:-default}` and `${NAME:?message}` as Compose does. */
export function interpolate(text: string, variables: Record<string, string>): string {
  return text.replaceAll(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_, name: string, operator?: string, rest = "") => {
      const value = variables[name];
      if (value) return value;
      if (operator === "?") throw new Error(`${name} is required: ${rest}`);
      return operator === "-" ? rest : "";
    },
  );
}

export function environmentOf(
  service: ComposeService | undefined,
  variables: Record<string, string>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(service?.environment ?? {}).map(([name, value]) => [name, interpolate(value, variables)]),
  );
}
