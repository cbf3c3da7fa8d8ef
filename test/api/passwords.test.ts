import { describe, expect, test } from "bun:test";
import { type ApiClient, userPassword } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";

const server = await setUpApi();

describe("a password", () => {
  test("can be changed with the old one, and every other session ends", async () => {
    const { client } = await server.newUser("changer");
    const other = await server.signIn("changer", userPassword);
    const wrong = { oldPassword: "not it", newPassword: "another good password" };
    expect((await client.request("POST", "/api/auth/password", wrong)).status).toBe(422);
    await client.expect(204, "POST", "/api/auth/password", { ...wrong, oldPassword: userPassword });
    expect((await client.request("GET", "/api/auth/me")).status).toBe(200);
    expect((await other.request("GET", "/api/auth/me")).status).toBe(401);
    await server.signIn("changer", "another good password");
  });

  test("that is empty is wrong", async () => {
    const { client } = await server.newUser("blank");
    const signIn = { username: "blank", password: "" };
    expect((await server.anonymous.request("POST", "/api/auth/login", signIn)).status).toBe(401);
    const nobody = { username: "there is no such user", password: "" };
    expect((await server.anonymous.request("POST", "/api/auth/login", nobody)).status).toBe(401);
    const change = { oldPassword: "", newPassword: "another good password" };
    expect((await client.request("POST", "/api/auth/password", change)).status).toBe(422);
  });

  test("set by an admin ends all sessions of the user", async () => {
    const { id, client } = await server.newUser("forgetful");
    await server.admin.expect(200, "PATCH", `/api/users/${id}`, { password: "a fresh password" });
    expect((await client.request("GET", "/api/auth/me")).status).toBe(401);
  });

  const newToken = async (client: ApiClient, scopes = ["read"]) => {
    const { token } = await client.expect<{ token: string }>(201, "POST", "/api/tokens", {
      name: "ci",
      scopes,
    });
    return server.as(token);
  };
  const statusOf = async (client: ApiClient) => (await client.request("GET", "/api/auth/me")).status;

  test("ends the user's API tokens, but not those of others", async () => {
    const { client } = await server.newUser("token-owner");
    const bystander = await newToken((await server.newUser("bystander")).client);
    const tokens = [await newToken(client), await newToken(client, ["admin"])];
    const change = { oldPassword: userPassword, newPassword: "another good password" };
    await client.expect(204, "POST", "/api/auth/password", change);
    expect(await Promise.all(tokens.map(statusOf))).toEqual([401, 401]);
    expect([await statusOf(bystander), await statusOf(client)]).toEqual([200, 200]);
    expect(await client.expect(200, "GET", "/api/tokens")).toMatchObject({ total: 0 });
    const { items } = await server.admin.expect<{ items: unknown[] }>(200, "GET", "/api/audit");
    expect(items).toContainEqual(
      expect.objectContaining({
        action: "auth.change-password",
        detail: { endedSessions: 0, endedTokens: 2, endedIdentities: 0 },
      }),
    );
  });

  test("set by an admin ends the user's API tokens", async () => {
    const { id, client } = await server.newUser("reset-owner");
    const token = await newToken(client);
    await server.admin.expect(200, "PATCH", `/api/users/${id}`, { role: "user" });
    expect(await statusOf(token)).toBe(200);
    await server.admin.expect(200, "PATCH", `/api/users/${id}`, { password: "a fresh password" });
    expect(await statusOf(token)).toBe(401);
  });

  test("keeps them with keepTokens", async () => {
    const { id, client } = await server.newUser("keeper");
    const token = await newToken(client);
    const change = { oldPassword: userPassword, newPassword: "another good password", keepTokens: true };
    await client.expect(204, "POST", "/api/auth/password", change);
    expect(await statusOf(token)).toBe(200);
    const set = { password: "a third good password", keepTokens: true };
    await server.admin.expect(200, "PATCH", `/api/users/${id}`, set);
    expect(await statusOf(token)).toBe(200);
    const alone = await server.admin.request("PATCH", `/api/users/${id}`, { keepTokens: true });
    expect([alone.status, alone.text]).toEqual([422, expect.stringContaining("password")]);
  });

  test("leaves no token that an ended credential created at the same time", async () => {
    const { client } = await server.newUser("racer");
    for (let round = 0; round < 5; round++) {
      const thief = await newToken(client, ["admin"]);
      const oldPassword = round === 0 ? userPassword : `password of round ${round - 1}`;
      const change = client.request("POST", "/api/auth/password", {
        oldPassword,
        newPassword: `password of round ${round}`,
      });
      const made: number[] = [];
      let isDone = false;
      const end = () => {
        isDone = true;
      };
      change.then(end, end);
      while (!isDone)
        made.push((await thief.request("POST", "/api/tokens", { name: "again", scopes: ["read"] })).status);
      expect((await change).status).toBe(204);
      expect(await client.expect(200, "GET", "/api/tokens")).toMatchObject({ total: 0 });
      expect(made).toContain(201);
    }
  });
});
