import { afterEach, describe, expect, test } from "bun:test";
import { manualClock, systemClock } from "../../src/clock.ts";
import { Admission } from "../../src/push/admission/admission.ts";
import { ConnectRate } from "../../src/push/admission/connect-rate.ts";
import type { CodeVerifier } from "../../src/push/admission/verification-order.ts";
import { Connections } from "../../src/push/connection/connections.ts";
import { newPushCounters } from "../../src/push/message/counters.ts";
import { eventually } from "../support/eventually.ts";
import { pick } from "../support/length.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { RawSocket, upgradeHeaders } from "../support/raw-socket.ts";
import { type TransportPath, transports } from "../support/transports.ts";

let push: PushApp | null = null;

afterEach(async () => {
  await push?.stop();
  push = null;
});

function started(): PushApp {
  if (!push) throw new Error("start the service first");
  return push;
}

async function attempt(
  query: string,
  path: TransportPath = "/ws",
): Promise<{ socket: RawSocket; status: number; code: number }> {
  const socket = new RawSocket(started().port);
  socket.request("GET", `${path}?${query}`, path === "/ws" ? upgradeHeaders : {});
  const answer = await socket.answer();
  const isOpen = answer.status === 101 || answer.status === 200;
  const code = isOpen ? 0 : (JSON.parse(answer.body) as { code: number }).code;
  if (code !== 0) socket.end();
  return { socket, status: answer.status, code };
}

describe("a place is reserved before any waiting", () => {
  const limit = pick(200, 1000);
  const racing = pick(1000, 5000);

  test(`max-connections = ${limit} with ${racing} clients racing through a verify service that takes 200 ms: never more, and every refused place is free again`, async () => {
    const app = await startPushApp({ "push.max-connections": limit });
    push = app;
    app.verify.answer = async (code) => {
      // The time of the service; the others arrive meanwhile.
      await Bun.sleep(200);
      return code.startsWith("bad") ? Response.json({ successful: false }) : Response.json(code);
    };
    let most = 0;
    let isRacing = true;
    const watch = (async () => {
      while (isRacing) {
        most = Math.max(most, await app.metric("slipway_push_places_taken"));
        // A sample now and then, so that the server has most of the time.
        await Bun.sleep(20);
      }
    })();
    const attempts = await Promise.all(
      Array.from({ length: racing }, (_, index) =>
        attempt(`code=${index % 5 === 0 ? "bad" : "ok"}-${index}`),
      ),
    );
    isRacing = false;
    await watch;
    const open = attempts.filter(({ status }) => status === 101);
    const refused = new Set(attempts.filter(({ status }) => status !== 101).map(({ code }) => code));
    expect(open.length).toBeGreaterThan(0);
    expect(open.length).toBeLessThanOrEqual(limit);
    expect(most).toBeLessThanOrEqual(limit);
    // On a busy machine some verifications time out.
    refused.delete(50304);
    expect([...refused].sort()).toEqual([40102, 50302]);
    expect(await app.metric("slipway_push_places_taken")).toBe(open.length);

    // Refused attempts hold no place: exactly the remaining places can be taken.
    app.verify.answer = (code) => Response.json(code);
    const rest = await Promise.all(
      Array.from({ length: limit - open.length }, (_, index) => attempt(`code=late-${index}`)),
    );
    expect(rest.every(({ status }) => status === 101)).toBe(true);
    expect((await attempt("code=too-many")).code).toBe(50302);
    for (const { socket } of [...open, ...rest]) socket.end();
    await eventually(
      "all places are free",
      async () => (await app.metric("slipway_push_places_taken")) === 0,
    );
  });

  test.each(transports)(
    "max-connections-per-user holds when a user's connections race to %s",
    async (path) => {
      push = await startPushApp({ "push.max-connections-per-user": 3 });
      const { verify } = push;
      verify.answer = async () => {
        await eventually("all are asked for", () => verify.requests.length === 20);
        return Response.json("ann");
      };
      const attempts = await Promise.all(Array.from({ length: 20 }, () => attempt("code=x", path)));
      expect(attempts.filter(({ code }) => code === 0).length).toBe(3);
      expect(new Set(attempts.map(({ code }) => code))).toEqual(new Set([0, 42902]));
      for (const { socket } of attempts) socket.end();
    },
  );

  test.each(transports)(
    "clients that leave %s while their codes are verified leave no connection behind",
    async (path) => {
      const app = await startPushApp();
      push = app;
      const { promise: verified, resolve: verify } = Promise.withResolvers<void>();
      app.verify.answer = async (code) => {
        await verified;
        return Response.json(code);
      };
      const sockets = Array.from({ length: 50 }, (_, index) => {
        const socket = new RawSocket(app.port);
        socket.request("GET", `${path}?code=user-${index}`, path === "/ws" ? upgradeHeaders : {});
        return socket;
      });
      await eventually("all are being verified", () => app.verify.requests.length === 50);
      // Half of them leave before the answers, the others at the same moment.
      for (const socket of sockets.slice(0, 25)) socket.end();
      verify();
      for (const socket of sockets.slice(25)) socket.end();
      await eventually(
        "all places are free",
        async () => (await app.metric("slipway_push_places_taken")) === 0,
      );
      expect(await app.online()).toEqual([]);
      expect(await app.metric("slipway_push_event_streams")).toBe(0);
    },
  );

  test("at most 1,000 codes are verified at once; 10,000 more wait in order, for at most ten seconds", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const clock = manualClock(0);
    let calls = 0;
    const admission = new Admission(
      { maxConnections: 50_000, maxConnectionsPerUser: 0, maxVerifications: 1000 },
      {
        instance: null,
        isRefusing: () => false,
        hasReachedBus: () => true,
        isAllowedOrigin: () => true,
        connectRate: new ConnectRate(0, systemClock),
        verifier: {
          isLocal: () => false,
          verify: () => {
            calls++;
            return promise.then(() => "rejected");
          },
        } as unknown as CodeVerifier,
        connections: new Connections(),
        counters: newPushCounters(),
        onFull() {},
        clock,
      },
    );
    const attempt = { address: "", rateKey: "", origin: null, code: "x", asksTemporary: false };
    const first = Array.from({ length: 1000 }, () => admission.admit(attempt));
    await eventually("1,000 are verified", () => calls === 1000);
    const late = Array.from({ length: 5000 }, () => admission.admit(attempt));
    await eventually("they wait", () => admission.pending === 6_000);
    clock.advance(5_000);
    const inTime = Array.from({ length: 5000 }, () => admission.admit(attempt));
    expect(await admission.admit(attempt)).toBe("verify_unavailable");
    expect([calls, admission.pending, admission.placesTaken]).toEqual([1000, 11_000, 11_000]);
    clock.advance(5_000);
    resolve();
    expect(new Set(await Promise.all([...first, ...inTime]))).toEqual(new Set(["rejected"]));
    expect(new Set(await Promise.all(late))).toEqual(new Set(["verify_unavailable"]));
    expect([calls, admission.pending, admission.placesTaken]).toEqual([6000, 0, 0]);
  });
});
