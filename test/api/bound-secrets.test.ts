import { describe, expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";

const server = await setUpApi();

describe("secrets that are stored for the server of the repository", () => {
  const url = "https://git.example.com/shop.git";
  async function project(): Promise<string> {
    const body = { name: `bound ${crypto.randomUUID()}`, git: { url } };
    const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", body);
    const path = `/api/projects/${id}`;
    const credential = { type: "token", username: "git", token: "a token" };
    await server.admin.expect(204, "PUT", `${path}/credential`, credential);
    await server.admin.expect(204, "PUT", `${path}/keys/status-token`, { value: "a token" });
    await server.admin.expect(204, "PUT", `${path}/keys/notify-key`, { value: "a key" });
    return path;
  }

  test.each([
    "https://git.evil.example.com/shop.git",
    "https://git.example.com:8443/shop.git",
    "ssh://git@git.example.com/shop.git",
    "git@git.example.com:shop.git",
    "https://git.example.com.evil.example.com/shop.git",
  ])("is deleted with a warning when git.url becomes %s", async (other) => {
    const path = await project();
    const changed = await server.admin.expect<{ git: unknown; warnings: string[] }>(200, "PATCH", path, {
      git: { url: other },
    });
    expect(changed.git).toMatchObject({ url: other, credentialSet: false });
    expect(changed.warnings).toHaveLength(2);
    expect(changed).toMatchObject({
      warningParts: [
        [{ code: "secret_dropped", values: { noun: { code: "noun_clone_credential" } } }],
        [{ code: "secret_dropped", values: { noun: { code: "noun_status_token" } } }],
      ],
    });
    expect(changed.warnings.join()).toMatch(
      /clone credential.*https:\/\/git\.example\.com:443.*status token/s,
    );
    expect(await server.admin.expect(200, "GET", `${path}/keys`)).toEqual({
      notifyKeySet: true,
      statusTokenSet: false,
    });
    const { items } = await server.admin.expect<{ items: { action: string; detail: object }[] }>(
      200,
      "GET",
      "/api/audit?action=project.update",
    );
    expect(items[0]?.detail).toMatchObject({ forgotten: ["clone credential", "status token"] });
    // Changing the URL back does not restore it.
    const back = await server.admin.expect(200, "PATCH", path, { git: { url } });
    expect(back).toMatchObject({ git: { credentialSet: false }, warnings: [] });
  });

  test("stays when the repository moves within its server", async () => {
    const path = await project();
    const git = { url: "https://GIT.example.com:443/other.git", ref: "next" };
    const changed = await server.admin.expect(200, "PATCH", path, { git });
    expect(changed).toMatchObject({ git: { credentialSet: true }, warnings: [] });
    expect(await server.admin.expect(200, "GET", `${path}/keys`)).toMatchObject({ statusTokenSet: true });
  });
});
