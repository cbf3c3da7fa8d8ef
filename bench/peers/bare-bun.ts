/**
 * Bun with nothing around it: an upgrade (after one fetch, when VERIFY_URI is set), a publish to one topic, and JSON that
 * is parsed and answered. What Slipway costs more than this is what Slipway does more.
 */
import type { Server } from "bun";

const verifyUri = process.env.VERIFY_URI;
const answer = { code: 0, successful: true, msg: null, data: "ok", encrypt: false };

const server: Server<undefined> = Bun.serve<undefined>({
  hostname: "127.0.0.1",
  port: 0,
  routes: {
    "/ws": async (request: Request) => {
      if (verifyUri) {
        const code = new URL(request.url).searchParams.get("code") ?? "";
        const response = await fetch(`${verifyUri}?code=${encodeURIComponent(code)}`, { keepalive: false });
        if (!((await response.json()) as { successful: boolean }).successful)
          return new Response("", { status: 401 });
      }
      return server.upgrade(request, { data: undefined })
        ? undefined
        : new Response("expected an upgrade", { status: 426 });
    },
    "/feign/publish": {
      POST: async (request: Request) => {
        const { targetType, data } = (await request.json()) as { targetType: string; data: string };
        if (targetType === "all") server.publish("all", data);
        return Response.json(answer);
      },
    },
  },
  fetch: () => new Response("", { status: 404 }),
  websocket: {
    idleTimeout: 0,
    sendPings: false,
    open: (socket) => void socket.subscribe("all"),
    message: () => {},
  },
});
console.log(`ready at http://127.0.0.1:${server.port}`);
