import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { loadConfig } from "../../src/config/config-load.ts";
import { failureOf } from "../support/failure.ts";
import { examplesOf } from "../support/page-examples.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const load = (providers: unknown, more: Record<string, string> = {}) =>
  loadConfig({
    env: {
      SLIPWAY_AUTH_PROVIDERS: typeof providers === "string" ? providers : JSON.stringify(providers),
      ...more,
    },
    flags: {},
  });
const credentials = { clientId: "id", clientSecret: "the secret" };
const refusal = async (providers: unknown, more: Record<string, string> = {}) =>
  String(await failureOf(load(providers, more)));

const examples = (await examplesOf("sign-in.md")).filter(({ language }) => language === "yaml");

test.each(examples)("the settings of docs/sign-in.md are right ($id, line $line)", async ({ text }) => {
  const path = join(temporaryFolder("settings"), "slipway.yaml");
  await Bun.write(path, text);
  const config = await loadConfig({ file: { path, required: true }, env: {}, flags: {} });
  expect(config["auth.providers"].length).toBeGreaterThan(0);
});

describe("auth.providers", () => {
  test("needs only the credentials of a provider that everybody knows", async () => {
    const config = await load([{ type: "github", ...credentials }]);
    expect(config["auth.providers"]).toEqual([
      {
        ...{ type: "github", name: "github", title: "GitHub", address: "https://github.com", ...credentials },
        ...{ scopes: [], groupsClaim: "groups", loginClaim: "preferred_username" },
        ...{ domains: [], organisations: [], groups: [], roles: [], newAccounts: false },
      },
    ]);
  });

  test("takes an address with or without its discovery document, and roles with a permission", async () => {
    const roles = [
      { group: "ops", admin: true },
      { group: "web", member: "Web" },
      { group: "leads", member: "Web", permission: "manage" },
    ];
    const address = "https://login.example.com/realms/company";
    for (const written of [address, `${address}/`, `${address}/.well-known/openid-configuration`]) {
      const { "auth.providers": providers } = await load([
        { name: "company", address: written, ...credentials, roles },
      ]);
      expect(providers[0]).toMatchObject({ type: "openid", title: "company", address });
      expect(providers[0]?.roles).toEqual([
        { group: "ops", admin: true },
        { group: "web", member: "Web", permission: "view" },
        { group: "leads", member: "Web", permission: "manage" },
      ]);
    }
  });

  test.each([
    ["no JSON", "must be a list of providers, in the environment as JSON"],
    [[{ ...credentials }], "needs name"],
    [[{ name: "a", ...credentials }], "a: needs address"],
    [[{ type: "gitea", ...credentials }], "gitea: needs address"],
    [[{ type: "github", clientId: "id" }], "github: needs clientId and clientSecret"],
    [[{ type: "hub", ...credentials }], "type must be one of openid, github, gitlab, gitee, gitea"],
    [
      [{ type: "github", ...credentials, clientSecrets: "x" }],
      "clientSecrets is no field of it; did you mean clientSecret?",
    ],
    [[{ type: "github", ...credentials, name: "Git Hub" }], "name must be 1 to 40 small letters"],
    [[{ type: "github", ...credentials, clientSecret: "  " }], "clientSecret must not be empty"],
    [
      [{ type: "github", ...credentials, domains: ["@example.com"] }],
      "domains has an entry that must be the domain",
    ],
    [[{ type: "github", ...credentials, roles: [{ group: "a" }] }], "needs either admin: true, or member"],
    [
      [{ type: "github", ...credentials, roles: [{ group: "a", admin: true, member: "b" }] }],
      "needs either admin",
    ],
    [
      [{ type: "gitlab", ...credentials, newAccounts: true }],
      "newAccounts would give everybody there an account",
    ],
    [
      [
        { type: "gitlab", ...credentials },
        { type: "gitlab", ...credentials },
      ],
      "two providers with the name gitlab",
    ],
    [
      [{ type: "gitea", address: "http://git.example.com", ...credentials }],
      "must begin with https://, or be one of hosts.trusted",
    ],
    [[{ type: "gitea", address: "https://u:p@git.example.com", ...credentials }], "without a user"],
  ])("%j is refused", async (providers, text) => {
    const message = await refusal(providers);
    expect(message).toContain(text);
    expect(message).not.toContain("the secret");
  });

  test("takes http at a trusted host and on this machine", async () => {
    const trusted = { SLIPWAY_HOSTS_TRUSTED: "http://git.example.com" };
    await load([{ type: "gitea", address: "http://git.example.com", ...credentials }], trusted);
    await load([{ type: "gitea", address: "http://127.0.0.1:3000", ...credentials }]);
  });

  test("is needed by auth.local: admins", async () => {
    const admins = { SLIPWAY_AUTH_LOCAL: "admins" };
    expect(await refusal([], admins)).toContain("auth.local (settings): needs auth.providers");
    await load([{ type: "github", ...credentials }], admins);
  });
});
