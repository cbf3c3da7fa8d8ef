import { afterAll, afterEach, expect } from "bun:test";
import type { HostKind } from "../../src/git-host/hosts.ts";
import { type ApiClient, startApiServer } from "./api-server.ts";
import { type HostService, startHostService } from "./host-services.ts";

export interface ShownHook {
  state: string;
  note: string;
  hasDeployKey: boolean;
  isChecked: boolean;
}

export interface ShownToken {
  id: number;
  login: string;
  scopes: string[] | null;
  expiresAt: string | null;
}

export const baseUrl = "https://slipway.example.com";

/** A server for the tests of one file, with Git hosts, tokens for them, and projects whose repository is there. */
export async function setUpHostedProjects(settings: Parameters<typeof startApiServer>[0] = {}) {
  const server = await startApiServer({
    ...settings,
    "server.baseUrl": baseUrl,
    "tasks.allowInternalNotifications": true,
    "tasks.allowLocalRepositories": true,
  });
  const { admin } = server;
  const hosts: HostService[] = [];
  let count = 0;
  const newHost = (kind: HostKind): HostService => {
    const host = startHostService(kind);
    hosts.push(host);
    return host;
  };
  const postToken = (host: HostService, kind: HostKind, client: ApiClient = admin) =>
    client.request("POST", "/api/host-tokens", { kind, url: host.origin, token: host.token });
  async function saveToken(host: HostService, kind: HostKind, client?: ApiClient): Promise<ShownToken> {
    const { status, body } = await postToken(host, kind, client);
    expect(status).toBe(201);
    return body as ShownToken;
  }
  async function newProject(url: string): Promise<{ id: number; path: string }> {
    const project = { name: `project ${++count}`, git: { url } };
    const { id } = await admin.expect<{ id: number }>(201, "POST", "/api/projects", project);
    return { id, path: `/api/projects/${id}/host-hook` };
  }
  // A user may have 20 tokens.
  afterEach(async () => {
    const { items } = await admin.expect<{ items: ShownToken[] }>(200, "GET", "/api/host-tokens");
    for (const { id } of items) await admin.expect(204, "DELETE", `/api/host-tokens/${id}`);
    for (const host of hosts.splice(0)) host.stop();
  });
  afterAll(() => server.stop());
  return {
    server,
    newHost,
    postToken,
    saveToken,
    newProject,
    /** A project whose webhook was created at a new host. */
    async connected(kind: HostKind) {
      const host = newHost(kind);
      const { id: tokenId } = await saveToken(host, kind);
      const project = await newProject(host.cloneUrl);
      await admin.expect(200, "POST", project.path, { tokenId });
      const check = () => admin.expect<ShownHook>(200, "POST", `${project.path}/check`);
      return { ...project, host, tokenId, check };
    },
  };
}
