import { expect, test } from "bun:test";
import { adminPassword } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import { buildCli } from "../support/cli.ts";

const slipway = buildCli({});
const server = await setUpApi();

const signIn = async (password: string) =>
  (await server.anonymous.request("POST", "/api/auth/login", { username: "admin", password })).status;

test("user reset-password sets a new password while the server runs; old password and sessions end", async () => {
  const reset = (...args: string[]) =>
    slipway(["user", "reset-password", ...args, "--data-dir", server.dataDir], "a new password\n");
  expect(await reset("admin", "--json")).toMatchObject({
    exitCode: 0,
    stdout: '{"id":1,"username":"admin","endedTokens":0}\n',
  });
  expect((await server.admin.request("GET", "/api/auth/me")).status).toBe(401);
  expect(await signIn(adminPassword)).toBe(401);
  const admin = await server.signIn("admin", "a new password");
  expect(await admin.expect(200, "GET", "/api/audit?action=user.rescue")).toMatchObject({
    items: [{ subject: "user admin", remoteIp: "command line", userId: null }],
  });
  const made = await admin.expect<{ token: string }>(201, "POST", "/api/tokens", { name: "ci" });
  const token = server.as(made.token);
  expect((await reset("admin", "--keep-tokens")).stdout).toContain("API tokens still work");
  expect((await token.request("GET", "/api/auth/me")).status).toBe(200);
  expect((await reset("admin")).stdout).toContain("1 API token revoked");
  expect((await token.request("GET", "/api/auth/me")).status).toBe(401);
  expect((await reset("nobody")).stderr).toContain("There is no user nobody");
  const short = await slipway(["user", "reset-password", "admin", "--data-dir", server.dataDir], "short\n");
  expect([short.exitCode, short.stderr]).toEqual([2, expect.stringContaining("8 to 256")]);
});
