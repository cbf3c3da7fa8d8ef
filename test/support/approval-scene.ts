import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ApiClient, signInAt, userPassword } from "./api-server.ts";
import type { deployClient } from "./deploy-server.ts";
import { scratchOf } from "./temporary-folder.ts";

type Client = Awaited<ReturnType<typeof deployClient>>;

/** A project whose deploys need an approval. */
export interface GuardedProject {
  id: number;
  /** What deploys write to. */
  file: string;
  /** One line for each deploy: the commit, the variable COLOR, and the number of the build that made it. */
  deployed(): string[];
}

let files = 0;

/** The build writes a file into the workspace that the deploy needs, so that a deploy without its build fails. */
export async function guardedProject(
  server: Client,
  place: { url: string; dataDir: string },
  deploy: object = {},
  more: object = {},
): Promise<GuardedProject> {
  const file = join(scratchOf(place.dataDir), `deployed-${++files}`);
  const scripts = {
    build: `echo x >> ${file}-builds; wc -l < ${file}-builds | tr -d ' ' > built.txt; echo "building $CI_COMMIT"`,
    deploy: `echo "$CI_COMMIT $COLOR $(cat built.txt)" >> ${file}`,
  };
  const id = await server.project(place.url, scripts, {
    env: { COLOR: "red" },
    deploy: { approval: "required", ...deploy },
    ...more,
  });
  const deployed = () => {
    try {
      return readFileSync(file, "utf8").split("\n").filter(Boolean);
    } catch {
      return [];
    }
  };
  return { id, file, deployed };
}

/** Signs a new user in, who has this permission for the project. */
export async function memberOf(
  server: Client,
  projectId: number,
  username: string,
  permission: "view" | "manage" = "manage",
): Promise<ApiClient & { id: number }> {
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/users", {
    username,
    password: userPassword,
  });
  await server.admin.expect(200, "PUT", `/api/projects/${projectId}/members/${id}`, { permission });
  return { ...(await signInAt(server.url, username, userPassword)), id };
}

export function answer(
  as: ApiClient,
  id: number,
  act: "approve" | "reject",
  status = 200,
  comment = "checked",
): Promise<Record<string, unknown>> {
  return as.expect(status, "POST", `/api/tasks/${id}/${act}`, { comment });
}
