import { createMiddleware } from "hono/factory";
import type { ConsoleAccess } from "../../account/console-access.ts";
import { isUnsafe } from "../auth.ts";
import type { ApiEnv } from "./context.ts";

/** Where a change can give somebody a permission or take it away. */
const permissionPaths = /^\/api\/(users|groups|projects)(\/|$)/;

/** After such a change, open console connections are looked at again: what was heard a moment ago may be private now. */
export function followPermissions(consoleAccess: ConsoleAccess) {
  return createMiddleware<ApiEnv>(async (c, next) => {
    await next();
    if (isUnsafe(c.req.method) && c.res.ok && permissionPaths.test(c.req.path))
      consoleAccess.permissionsChanged();
  });
}
