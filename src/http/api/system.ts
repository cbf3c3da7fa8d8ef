import { packagesInside, systemBackup, systemState } from "../../model/console/system.ts";
import { audit } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { warningPartsShape, withWarnings } from "./reason-shape.ts";
import { newApi, routesOf } from "./route.ts";
import { json, z } from "./shape.ts";

const route = routesOf("system");

const shownState = systemState
  .extend({
    warnings: z.array(z.string()).openapi({
      description:
        "Warnings of the start text, and of a Kafka log with too few replicas, in English. An address that is not set and runners without isolation are not among them: see `address` and `GET /api/notices`.",
    }),
    warningParts: warningPartsShape,
  })
  .openapi("System");

const getSystem = route("get", "/system", {
  summary: "The state of the installation",
  description: "Version, address, database, disk, queue, runners and the effective settings.",
  access: "admin",
  ok: json("The state.", shownState),
});

const backUp = route("post", "/system/backup", {
  summary: "Write a backup",
  description:
    "Writes the database and the key file into one file in `<data.dir>/backups` of the server that answers, as `slipway backup` does. The answer comes when the file is complete. A backup that is already running is awaited instead.",
  access: "admin",
  ok: json("The file.", systemBackup),
});

const licences = route("get", "/system/licences", {
  summary: "The packages inside and their licences",
  description: "Every package that the program and the console contain, also those that others need.",
  access: "admin",
  ok: json("The packages, by name.", packagesInside),
});

export function systemApi({ system }: ApiDeps) {
  return newApi()
    .openapi(getSystem, async (c) => {
      const { warnings, ...state } = await system.state();
      return c.json({ ...state, ...withWarnings(warnings) }, 200);
    })
    .openapi(licences, async (c) => c.json({ packages: await system.packages() }, 200))
    .openapi(backUp, async (c) => {
      // The answer takes as long as the database is large.
      c.env.waitLong();
      const written = await system.backUp();
      const { file, bytes } = written;
      await audit(c, { action: "system.backup", subject: "system", detail: { file, bytes } });
      return c.json(written, 200);
    });
}
