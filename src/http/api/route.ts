import { createRoute, OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import { createMiddleware } from "hono/factory";
import type { Needed } from "../../account/permissions.ts";
import { Fault } from "../../errors.ts";
import type { TokenScope } from "../../model/user.ts";
import { isUnsafe } from "../auth.ts";
import type { ApiContext, ApiEnv } from "./context.ts";
import { invalidInput } from "./field-faults.ts";
import { knownCallerLimits, readJsonBody, strangerLimits } from "./json-body.ts";
import { maxId, z } from "./shape.ts";

/**
 * Who may call an endpoint. `{project}` and `{group}` look at the path parameter `id`.
 * "anonymous" endpoints that ask for another proof say so in their description.
 */
export type Access = Needed | "anonymous";

interface Guarded {
  access: Access;
  /** What an API token must be allowed to; by default read for GET, admin for admin's endpoints, write for the rest. */
  scope?: TokenScope;
  /** Refusals of its own, beside those that every endpoint of its kind can answer. */
  faults?: { [status: number]: string };
}

/**
 * An endpoint: what createRoute takes, and who may call it. The check runs before the input is looked at, so that a
 * stranger learns nothing from validation. The faults that every endpoint can answer are documented by themselves.
 */
export function route<
  P extends string,
  R extends Omit<RouteConfig, "path" | "middleware"> & { path: P } & Guarded,
>(config: R): ReturnType<typeof createRoute<P, R>> {
  const { access, scope = scopeOf(config.method, access), faults = {}, ...rest } = config;
  const documented = {
    operationId: operationIdOf(config.method, config.path),
    ...rest,
    middleware: guard(access, scope, {
      takesBody: rest.request?.body !== undefined,
      takesCondition: rest.request?.headers !== undefined,
    }),
    security: securityOf(access),
    responses: { ...faultResponses(access, rest.request !== undefined, faults), ...rest.responses },
    "x-access": typeof access === "string" ? access : Object.entries(access).flat().join(" "),
    "x-scope": access === "anonymous" ? undefined : scope,
  };
  // The caller's type keeps its own responses alone: a client that checked `ok` reads the success, not a union.
  return createRoute(documented as unknown as R) as ReturnType<typeof createRoute<P, R>>;
}

/** The app of one noun; api.ts mounts it. */
export function newApi() {
  return new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidInput(result.target, result.error.issues);
    },
  });
}

/** `post /projects/{id}/webhook/reset-key` → `postProjectsWebhookResetKeyById`, for generators of clients. */
function operationIdOf(method: string, path: string): string {
  const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
  const words = path.split("/").filter((part) => part !== "");
  const names = words.filter((word) => !word.startsWith("{")).flatMap((word) => word.split("-"));
  const by = words.filter((word) => word.startsWith("{")).map((word) => capital(word.slice(1, -1)));
  return method + names.map(capital).join("") + (by.length > 0 ? `By${by.join("And")}` : "");
}

function scopeOf(method: string, access: Access): TokenScope {
  if (access === "admin") return "admin";
  return isUnsafe(method.toUpperCase()) ? "write" : "read";
}

function guard(
  access: Access,
  scope: TokenScope,
  { takesBody, takesCondition }: { takesBody: boolean; takesCondition: boolean },
) {
  return createMiddleware<ApiEnv>(async (c, next) => {
    await admit(c, access, scope);
    if (!takesCondition) refuseCondition(c);
    // After authorisation, so that no body of an unauthorised caller is read. The runtime discards a body that is not read.
    if (takesBody) await readJsonBody(c, access === "anonymous" ? strangerLimits : knownCallerLimits);
    await next();
  });
}

/** A condition must not be ignored: the client would assume that it was met. */
function refuseCondition(c: ApiContext): void {
  const condition = c.req.header("if-match");
  if (condition === undefined || condition.trim() === "*" || !isUnsafe(c.req.method)) return;
  throw new Fault("changed_meanwhile", "This resource has no revision; omit the header If-Match.");
}

async function admit(c: ApiContext, access: Access, scope: TokenScope): Promise<void> {
  if (access === "anonymous") return;
  const { caller, fault } = c.var.identity;
  if (fault) throw fault;
  const { project, group } = await c.var.permissions.authorize(caller, access, scope, pathIdOf(c, access));
  if (project) c.set("project", project);
  if (group) c.set("group", group);
}

/** The `id` of the path; 0, which nothing has, when it is no id: so the answer is 404, as for any other missing thing. */
function pathIdOf(c: ApiContext, access: Access): number {
  if (typeof access === "string") return 0;
  const text = c.req.param("id") ?? "";
  const id = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  return id <= maxId ? id : 0;
}

function securityOf(access: Access): Record<string, string[]>[] {
  if (access === "anonymous") return [];
  return [{ bearer: [] }, { cookie: [] }];
}

const errorShape = z
  .object({
    error: z.object({
      code: z.string().openapi({ example: "invalid" }),
      message: z.string().openapi({ example: "The body is not right: name is required." }),
      fields: z
        .array(
          z.object({
            field: z.string().openapi({ example: "name" }),
            message: z.string().openapi({ example: "is required" }),
          }),
        )
        .optional(),
    }),
  })
  .openapi("Error");

function faultResponses(access: Access, hasInput: boolean, own: Record<number, string>) {
  const one = (description: string) => ({
    description,
    content: { "application/json": { schema: errorShape } },
  });
  const isAnonymous = access === "anonymous";
  return {
    ...(hasInput
      ? { 400: one("The body is not JSON."), 422: one("The input is not right; `fields` says where.") }
      : {}),
    ...(isAnonymous ? {} : { 401: one("No credential, or one that is no longer good.") }),
    ...(isAnonymous ? {} : { 403: one("The caller lacks the permission or the scope.") }),
    ...(typeof access === "string" ? {} : { 404: one("It does not exist, or the caller may not see it.") }),
    ...Object.fromEntries(Object.entries(own).map(([status, description]) => [status, one(description)])),
  };
}

/** For handlers that look a thing up by themselves. */
export function found<T>(thing: T | null | undefined, name: string): T {
  if (thing === null || thing === undefined) throw new Fault("not_found", `There is no ${name}.`);
  return thing;
}
