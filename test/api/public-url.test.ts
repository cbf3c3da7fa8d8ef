import { afterAll, beforeAll, expect, test } from "bun:test";
import { type ApiServer, startApiServer } from "../support/api-server.ts";

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
});
afterAll(() => server.stop());

test("the public address of a project is a web address or empty", async () => {
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: "shop",
    git: { url: "https://git.example.com/shop.git" },
    publicUrl: "https://shop.example.com/start",
  });
  const path = `/api/projects/${id}`;
  const read = () => server.admin.expect<{ publicUrl: string; revision: string }>(200, "GET", path);
  const before = await read();
  expect(before.publicUrl).toBe("https://shop.example.com/start");
  for (const publicUrl of ["shop.example.com", "javascript:alert(1)", "ftp://shop.example.com"]) {
    const refused = await server.admin.request("PATCH", path, { publicUrl });
    expect([refused.status, refused.text]).toEqual([
      422,
      expect.stringContaining("must be a URL that starts with http:// or https://"),
    ]);
  }
  await server.admin.expect(200, "PATCH", path, { publicUrl: "" });
  const after = await read();
  expect(after.publicUrl).toBe("");
  expect(after.revision).not.toBe(before.revision);
});
