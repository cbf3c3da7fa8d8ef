/**
 * A minimal server in Bun: an upgrade (after one fetch, if VERIFY_URI is set), a publish to all, and JSON that is parsed
 * and answered. With DELIVER=1, a publish to one user reaches that user. The difference to Slipway is the cost of its features.
 */
import type { Server } from "bun";

interface Publish {
  targetType: string;
  target: string;
  data: string;
}

const verifyUri = process.env.VERIFY_URI;
const delivers = process.env.DELIVER === "1";
const answer = { code: 0, successful: true, msg: null, data: "ok", encrypt: false };

const server: Server<string> = Bun.serve<string>({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT ?? 0),
  routes: {
    "/ws": async (request: Request) => {
      const code = new URL(request.url).searchParams.get("code") ?? "";
      if (verifyUri) {
        const response = await fetch(`${verifyUri}?code=${encodeURIComponent(code)}`, { keepalive: false });
        if (!((await response.json()) as { successful: boolean }).successful)
          return new Response("", { status: 401 });
      }
      return server.upgrade(request, { data: code })
        ? undefined
        : new Response("expected an upgrade", { status: 426 });
    },
    "/feign/publish": {
      POST: async (request: Request) => {
        const { targetType, target, data } = (await request.json()) as Publish;
        if (targetType === "all") server.publish("all", data);
        else if (delivers) server.publish(target, data);
        return Response.json(answer);
      },
    },
  },
  fetch: () => new Response("", { status: 404 }),
  websocket: {
    idleTimeout: 0,
    sendPings: false,
    open(socket) {
      socket.subscribe("all");
      if (delivers) socket.subscribe(socket.data);
    },
    message() {},
  },
});
console.log(`ready at http://127.0.0.1:${server.port}`);
