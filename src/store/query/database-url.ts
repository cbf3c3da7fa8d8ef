import { Fault } from "../../errors.ts";

export type DatabaseUrl = { kind: "sqlite"; path: string } | { kind: "postgres"; url: string };

export function readDatabaseUrl(url: string): DatabaseUrl {
  const path = url.startsWith("sqlite:") ? url.slice("sqlite:".length) : "";
  if (path !== "" && path !== ":memory:") return { kind: "sqlite", path };
  if (/^postgres(ql)?:\/\//.test(url)) return { kind: "postgres", url };
  throw new Fault("invalid", "database.url must be sqlite:<file> or postgres://….");
}
