import type { RoutePlaceKeeper } from "../../model/service/route-place.ts";
import { inTransaction } from "../query/keeper-call.ts";
import type { Scope } from "../query/scope.ts";

export function buildRoutePlaceKeeper({ db }: Scope): RoutePlaceKeeper {
  return {
    claim: inTransaction(async (projectId, places) => {
      // In one order, so that two changes at once cannot wait for each other.
      const rows = places
        .map(({ domain, path }) => ({ domain, path, project_id: projectId }))
        .sort((a, b) => (`${a.domain} ${a.path}` < `${b.domain} ${b.path}` ? -1 : 1));
      if (rows.length > 0)
        await db
          .insertInto("route_places")
          .values(rows)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      const isWanted = ({ domain, path }: { domain: string; path: string }) =>
        rows.some((row) => row.domain === domain && row.path === path);
      const domains = [...new Set(rows.map(({ domain }) => domain))];
      const held = await db
        .selectFrom("route_places")
        .select(["domain", "path", "project_id as projectId"])
        .where((row) =>
          row.or([
            row("project_id", "=", projectId),
            ...(domains.length > 0 ? [row("domain", "in", domains)] : []),
          ]),
        )
        .execute();
      for (const place of held.filter((each) => each.projectId === projectId && !isWanted(each)))
        await db
          .deleteFrom("route_places")
          .where("domain", "=", place.domain)
          .where("path", "=", place.path)
          .execute();
      return held.filter((each) => each.projectId !== projectId && isWanted(each));
    }),
  };
}
