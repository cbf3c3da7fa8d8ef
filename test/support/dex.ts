import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { findGoModule } from "./go-module.ts";
import { launch, serviceFolder } from "./service-process.ts";

const api = "github.com/dexidp/dex/api/v2";

/** The folder with Dex and its pages. */
export function findDex(): Promise<string> {
  return findGoModule({
    title: "Dex 2.44.0",
    module: "github.com/dexidp/dex",
    // Of the release 2.44.0, whose tag the Go module proxy does not know.
    version: "v0.0.0-20250829100637-2dce75009acf",
    program: "dex",
    folders: ["web"],
    // The module of its API is published beside it; in its own repository it is a neighbouring folder.
    prepare: ["mod", "edit", `-dropreplace=${api}`, `-require=${api}@v2.4.0`],
    build: ["./cmd/dex"],
    variable: "SLIPWAY_TEST_DEX",
  });
}

export const dexPassword = "the password of people at Dex";

export interface Dex {
  url: string;
  clientId: string;
  clientSecret: string;
  stop(): Promise<void>;
}

/** A Dex on a free port with the people `ann` and `bob`, for an application with this redirect address. */
export async function startDex(programFolder: string, redirectUri: string): Promise<Dex> {
  const folder = serviceFolder("dex");
  const port = freePort();
  const url = `http://127.0.0.1:${port}/dex`;
  const clientId = "slipway";
  const clientSecret = "the secret of slipway at Dex";
  const hash = await Bun.password.hash(dexPassword, { algorithm: "bcrypt", cost: 10 });
  const people = ["ann", "bob"].map((name, index) => ({
    ...{ email: `${name}@example.com`, username: name, hash, userID: `${index + 1}`.repeat(8) },
  }));
  const settings = {
    issuer: url,
    storage: { type: "sqlite3", config: { file: join(folder, "dex.db") } },
    web: { http: `127.0.0.1:${port}` },
    frontend: { dir: join(programFolder, "web") },
    oauth2: { skipApprovalScreen: true },
    staticClients: [{ id: clientId, secret: clientSecret, name: "Slipway", redirectURIs: [redirectUri] }],
    enablePasswordDB: true,
    staticPasswords: people,
  };
  const file = join(folder, "dex.json");
  writeFileSync(file, JSON.stringify(settings));
  const dex = await launch({
    name: "Dex",
    url,
    folder,
    command: [join(programFolder, "dex"), "serve", file],
    isReady: async () => (await fetch(`${url}/.well-known/openid-configuration`, { keepalive: false })).ok,
  });
  return { url, clientId, clientSecret, stop: () => dex.stop() };
}
