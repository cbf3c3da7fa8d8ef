import { expect, test } from "bun:test";
import type { VerifiedCode } from "../../src/push/admission/verified-code.ts";
import { Refreshes, type RefreshParts } from "../../src/push/refresh.ts";

test("after a code of another user, as after any refused code, the next one is not verified at once", async () => {
  let verified = 0;
  const frames: string[] = [];
  const parts = {
    admission: {
      verifyAgain: async () => {
        verified++;
        return { userId: "bob", isTemporary: false, isConsole: false } as VerifiedCode;
      },
    },
    sendBuffers: { send: (_socket: unknown, frame: string) => frames.push(frame) },
  } as unknown as RefreshParts;
  const data = { kind: "normal", userId: "ann", isConsole: false, expiresAtMs: 1, refreshAtMs: 0 };
  const socket = { data, readyState: WebSocket.OPEN } as unknown as Parameters<Refreshes["present"]>[0];
  const refreshes = new Refreshes(parts);
  await refreshes.present(socket, "of bob");
  await refreshes.present(socket, "of bob");
  expect(verified).toBe(1);
  expect(frames.map((frame) => JSON.parse(frame).code)).toEqual(["refresh_rejected", "refresh_not_asked"]);
});
