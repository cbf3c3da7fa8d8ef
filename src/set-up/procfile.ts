import type { ServiceBody } from "../model/service/service.ts";

/* A Procfile, as Heroku, Dokku and Piku read it: one process in a line, `name: command`. */

export interface Procfile {
  services: Record<string, ServiceBody>;
  /** What runs once before a release serves, by name. */
  deploy: { name: string; script: string }[];
}

const line = /^([A-Za-z0-9_-]+)\s*:\s*(\S.*)$/;
/** Run to their end by Heroku and Dokku, and by Piku. */
const beforeStart = ["release", "preflight"];
/** Lines of Piku whose text is no command. */
const noCommand = /^(static|wsgi|jwsgi|rwsgi|gwsgi|php|cron\d*)$/;
/** Time in which the first request may be answered. */
const within = 60;

export function readProcfile(text: string): Procfile {
  const found: Procfile = { services: {}, deploy: [] };
  for (const written of text.split(/\r?\n/)) {
    const [, kind = "", command = ""] = line.exec(written.trim()) ?? [];
    const name = kind.toLowerCase().replaceAll("_", "-").replace(/^-+/, "").slice(0, 32);
    if (name === "" || noCommand.test(name)) continue;
    if (beforeStart.includes(name)) found.deploy.push({ name, script: command.trim() });
    // Only `web` listens.
    else if (name === "web")
      found.services.web = { command: command.trim(), port: "$PORT", check: { tcp: "$PORT", within } };
    else found.services[name] = { command: command.trim(), port: "none" };
  }
  return found;
}
