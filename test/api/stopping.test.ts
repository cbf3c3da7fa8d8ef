import { expect, test } from "bun:test";
import { adminPassword, startApiServer } from "../support/api-server.ts";
import { eventually } from "../support/eventually.ts";

test("open requests finish before the server stops; later ones are refused", async () => {
  const server = await startApiServer();
  const body = { username: "admin", password: adminPassword };
  // Hashing is slow and only a few run at once, so most of these are open when the server stops.
  const requests = Array.from({ length: 12 }, () =>
    server.anonymous.request("POST", "/api/auth/login", body),
  );
  await eventually("the first is answered", async () => {
    await Promise.race(requests);
    return true;
  });
  const stopped = server.stop();
  const answers = await Promise.all(requests);
  expect(answers.map(({ status }) => status)).toEqual(requests.map(() => 200));
  await stopped;
  await expect(server.anonymous.request("GET", "/livez")).rejects.toThrow();
});
