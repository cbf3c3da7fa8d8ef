import { afterAll } from "bun:test";
import { startDeployServer } from "./deploy-server.ts";
import { freePort } from "./free-port.ts";
import { serveGit } from "./git-http-server.ts";
import { makeRepository } from "./git-repository.ts";
import { receiveNotifications } from "./notification-receiver.ts";
import { type ProjectAnswer, service } from "./release-scene.ts";

/** A server for the tests of one file, with a repository, and projects whose service listens on a port of its own. */
export async function setUpReleases() {
  const repository = await makeRepository();
  await repository.push({ "server.js": service });
  const git = serveGit(repository.url.replace(/\/[^/]+$/, ""), null);
  const server = await startDeployServer({ "runner.hostSteps": true });
  const notifications = receiveNotifications();
  afterAll(async () => {
    await server.stop();
    server.remove();
    await git.stop();
    notifications.stop();
  });
  return {
    ...{ server, repository, git, notifications },
    newPort: freePort,
    serviceProject: (port: number, more: Record<string, unknown> = {}): Promise<number> =>
      server.project(
        `${git.url}/shop.git`,
        {},
        {
          stages: {
            build: { script: "cp server.js built.js; echo built" },
            start: { script: "node built.js &", healthCheck: httpCheck(port) },
          },
          env: { LISTEN: String(port) },
          notify: [{ url: notifications.url, events: ["task.failed", "task.succeeded"] }],
          ...more,
        },
      ),
    read: (projectId: number) => server.admin.expect<ProjectAnswer>(200, "GET", `/api/projects/${projectId}`),
    rollback: (projectId: number, body = {}) =>
      server.admin.expect<{ id: number }>(201, "POST", `/api/projects/${projectId}/rollback`, body),
    /** Pushes a commit and runs it. */
    async deploy(projectId: number, state: "success" | "failed", message = "a change") {
      const commit = await repository.push({}, { message });
      const task = await server.reach((await server.run(projectId)).id, state);
      return { commit, short: commit.slice(0, 7), task };
    },
  };
}

export const httpCheck = (port: number, more = {}) => ({
  type: "http",
  url: `http://127.0.0.1:${port}/`,
  timeoutSeconds: 10,
  ...more,
});
