import { describe, expect, test } from "bun:test";
import type { Answer } from "./api-server.ts";
import { apiAccess, expectedOutcome, type Held, type Outcome, outcomeOf } from "./endpoint-access.ts";
import type { PermissionScene } from "./permission-scene.ts";

/** These delete what other calls need; the scene creates it again. */
const destroys = new Set(["DELETE /api/projects/{id}", "DELETE /api/groups/{id}"]);
/** These succeed without a body and would end the session that the other calls need. */
const endsTheSession = new Set(["POST /api/auth/logout"]);

/** One test per endpoint of the management API: each caller calls it for its own and for a foreign project. */
export function testEveryEndpoint<Caller extends string>(
  callers: Record<Caller, Held>,
  sceneOf: () => PermissionScene,
  call: (caller: Caller, method: string, path: string) => Promise<Pick<Answer, "status" | "text">>,
): void {
  test("every endpoint of the management API has an expectation, and every expectation an endpoint", () => {
    const found = sceneOf().endpoints.map(({ key }) => key);
    expect(Object.keys(apiAccess).sort()).toEqual(found.sort());
  });

  describe("each endpoint of the management API admits exactly the expected callers", () => {
    test.each(Object.entries(apiAccess))("%s: %s", async (key, expectation) => {
      const [method = "", path = ""] = key.split(" ");
      const scene = sceneOf();
      const seen: Record<string, Outcome> = {};
      const wanted: Record<string, Outcome> = {};
      for (const side of ["own", "foreign"] as const)
        for (const [caller, held] of Object.entries(callers) as [Caller, Held][]) {
          const outcome = expectedOutcome(held, method, expectation, side);
          if (endsTheSession.has(key) && outcome === "allowed") continue;
          wanted[`${caller}, ${side}`] = outcome;
          seen[`${caller}, ${side}`] = outcomeOf(await call(caller, method, scene.concrete(path, side)));
          if (destroys.has(key) && outcome === "allowed") await scene.make(side);
        }
      expect(seen).toEqual(wanted);
    });
  });
}
