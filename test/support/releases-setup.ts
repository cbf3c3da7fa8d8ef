import { afterAll } from "bun:test";
import { startDeployServer } from "./deploy-server.ts";
import { freePort } from "./free-port.ts";
import { serveGit } from "./git-http-server.ts";
import { makeRepository } from "./git-repository.ts";
import { receiveNotifications } from "./notification-receiver.ts";
import { type ProjectAnswer, service } from "./release-scene.ts";

/** A server for the tests of one file, with a repository, and projects whose service `web` listens on a port of its own. */
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
  const gitUrl = `${git.url}/shop.git`;
  const change = (projectId: number, body: Record<string, unknown>) =>
    server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, body);
  return {
    ...{ server, repository, gitUrl, notifications, change },
    newPort: freePort,
    serviceProject: (port: number, more: Record<string, unknown> = {}): Promise<number> =>
      server.project(
        gitUrl,
        {},
        {
          pipeline: {
            build: [{ script: "cp server.js built.js; echo built" }],
            start: { web: webOn(port) },
          },
          env: { LISTEN: String(port) },
          notify: [{ url: notifications.url, events: ["task.failed", "task.succeeded"] }],
          ...more,
        },
      ),
    /** Its service `web` is another one from the next deploy on. */
    changeWeb: (projectId: number, web: Record<string, unknown>) =>
      change(projectId, { pipeline: { start: { web } } }),
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

/** The service of the repository on a fixed port. */
export const webOn = (port: number, more: Record<string, unknown> = {}) => ({
  command: "node built.js",
  port,
  check: { http: "/", within: 10 },
  stopGrace: 1,
  ...more,
});

/** The same on a port that the runner chooses; it starts beside the earlier one. */
export const webBeside = (more: Record<string, unknown> = {}) => ({
  command: "LISTEN=$PORT node server.js",
  check: { http: "/", within: 10 },
  drain: 0,
  stopGrace: 1,
  ...more,
});
