/**
 * A receiver of push.events-uri in a separate process, as a backend would write it: checks the signature, stores the events,
 * then answers. Arguments: port, file, secret, and `dies` for one that dies between storing the first events and the answer.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { appendFileSync } from "node:fs";

const [port = "0", file = "", secret = "", dies] = process.argv.slice(2);
/** Oldest and newest accepted time of a request. */
const toleranceSeconds = 300;

function isSigned(headers: Headers, body: string): boolean {
  const [id, timestamp] = [headers.get("webhook-id"), headers.get("webhook-timestamp")];
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds) return false;
  const expected = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest();
  return (headers.get("webhook-signature") ?? "").split(" ").some((entry) => {
    const [version, signature = ""] = entry.split(",");
    const given = Buffer.from(signature, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  async fetch(request) {
    const body = await request.text();
    if (!isSigned(request.headers, body)) return new Response(null, { status: 401 });
    const { type, data } = JSON.parse(body) as { type: string; data: { events: object[] } };
    if (type !== "push.events") return new Response(null, { status: 400 });
    appendFileSync(file, data.events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    if (dies) process.kill(process.pid, "SIGKILL");
    return new Response(null, { status: 204 });
  },
});
