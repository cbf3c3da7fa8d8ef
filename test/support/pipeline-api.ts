import { expect } from "bun:test";
import type { setUpApi } from "./api-setup.ts";

type Steps = { name: string; script: string }[];
export interface PipelineProject {
  id: number;
  stages: Record<string, object> | null;
  pipeline: Record<"build" | "deploy" | "start", Steps> &
    Record<"data" | "scratch", string[]> & { sealed: boolean };
  warnings: string[];
}

/** Projects that are made and changed for the sake of their pipelines. */
export function pipelineApi(server: Awaited<ReturnType<typeof setUpApi>>) {
  const git = { url: "https://git.example.com/shop.git" };
  let count = 0;
  const make = (body: object) =>
    server.admin.expect<PipelineProject>(201, "POST", "/api/projects", {
      name: `pipeline ${++count}`,
      git,
      ...body,
    });
  const change = (id: number, body: object) =>
    server.admin.expect<PipelineProject>(200, "PATCH", `/api/projects/${id}`, body);

  async function faultsOf(body: object, id?: number): Promise<Record<string, string>> {
    const path = id === undefined ? "/api/projects" : `/api/projects/${id}`;
    const sent = id === undefined ? { name: `pipeline ${++count}`, git, ...body } : body;
    const answer = await server.admin.request(id === undefined ? "POST" : "PATCH", path, sent);
    expect(answer.status).toBe(422);
    const { fields } = (answer.body as { error: { fields: { field: string; message: string }[] } }).error;
    return Object.fromEntries(fields.map(({ field, message }) => [field, message]));
  }
  return { make, change, faultsOf };
}
