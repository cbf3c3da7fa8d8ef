import type { ProxyName } from "../../model/service/route.ts";
import type { Reason } from "../../reason/reason.ts";
import type { ServedRoute } from "./served-route.ts";

/** What passes requests on to services. */
export interface RouteProxy {
  name: ProxyName;
  /** Why the proxy cannot serve these routes at all; null: it can. */
  refuses(routes: ServedRoute[]): Reason | null;
  /** From now on these are all routes. Null: done. Otherwise the earlier ones stay. */
  apply(routes: ServedRoute[]): Promise<Reason | null>;
  /** Whether requests can wait at the proxy. */
  holds: boolean;
  /** How often `apply` is called without a change of routes. */
  lookEveryMs: number;
  /** How long requests may still reach the earlier services after a switch. */
  settleMs: number;
  /** File with a line for each request. */
  accessLog: string;
  /** The file of its log was replaced: it must open the new one. A proxy without this replaces its files itself. */
  reopen?(): void;
  /** Ends it, if it is the runner's. */
  stop(): Promise<void>;
}
