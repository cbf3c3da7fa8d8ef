import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setUpApi } from "./api-setup.ts";
import { buildCli } from "./cli.ts";
import { temporaryFolder } from "./temporary-folder.ts";

interface Project {
  id: number;
  revision: string;
  secrets: { name: string; scope: string; as: string }[];
  [name: string]: unknown;
}

/** A server, and shells that apply files to it. */
export async function setUpProjectFiles() {
  const server = await setUpApi();
  const folder = temporaryFolder("project-file");
  const tokenOf = async (client: typeof server.admin, scopes: string[]) => {
    const body = { name: crypto.randomUUID(), scopes };
    return (await client.expect<{ token: string }>(201, "POST", "/api/tokens", body)).token;
  };
  const token = await tokenOf(server.admin, ["admin"]);
  const shell = (variables: Record<string, string> = {}) =>
    buildCli({ SLIPWAY_URL: server.url, SLIPWAY_TOKEN: token, ...variables });
  let count = 0;
  return {
    server,
    token,
    tokenOf,
    shell,
    slipway: shell(),
    /** The path of a new file with this text. */
    file(text: string): string {
      const path = join(folder, `${++count}.yaml`);
      writeFileSync(path, text);
      return path;
    },
    async projectNamed(name: string): Promise<Project | undefined> {
      const { items } = await server.admin.expect<{ items: Project[] }>(
        ...[200, "GET", `/api/projects?search=${encodeURIComponent(name)}`],
      );
      return items.find((project) => project.name === name);
    },
    /** How many changes of projects were sent to the server. */
    writes: () =>
      server.logLines.filter((line) =>
        /"method":"(POST|PUT|PATCH|DELETE)","path":"\/api\/projects/.test(line),
      ).length,
  };
}

export const gitOfFile = "git: { url: https://git.example.com/shop.git }\n";
