import { createRoute, OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import { createMiddleware } from "hono/factory";
import type { Needed } from "../../account/permissions.ts";
import { Fault } from "../../errors.ts";
import type { TokenScope } from "../../model/user.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { isUnsafe } from "../auth.ts";
import type { ApiContext, ApiEnv } from "./context.ts";
import { invalidInput } from "./field-faults.ts";
import { anonymousLimits, knownCallerLimits, readJsonBody } from "./json-body.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { ifMatch } from "./revision.ts";
import { idParams, maxId, type pathId } from "./scalars.ts";
import { type json, jsonBody, noContent, onlyGiven, strict, z } from "./shape.ts";

/**
 * Who may call an endpoint. `{project}` and `{group}` use the path parameter `id`. The description of an "anonymous"
 * endpoint says whether it requires another proof.
 */
export type Access = Needed | "anonymous";

type Shape = Parameters<typeof strict>[0];
type Answer = ReturnType<typeof json>;

interface Options {
  summary: string;
  description?: string;
  access: Access;
  /** The scope that an API token needs; default: read for GET, admin for endpoints of admins, write otherwise. */
  scope?: TokenScope;
  /** The parameters of the path that are not ids. */
  params?: Record<string, z.ZodType>;
  /** A change that an environment takes by itself. Without it, its project is to be changed. */
  ofEnvironments?: true;
  query?: Shape;
  body?: z.ZodType;
  /** 200, 201 and 202; without any of them the response is 204. One from `tagged` makes a change conditional. */
  ok?: Answer;
  created?: Answer;
  accepted?: Answer;
  /** Error responses in addition to those of every endpoint. */
  faults?: { [status: number]: string };
}

type ParamName<P extends string> = P extends `${string}{${infer N}}${infer Rest}`
  ? N | ParamName<Rest>
  : never;

type ParamsOf<P extends string, O> = z.ZodObject<{
  [N in ParamName<P>]: O extends { params: Record<N, infer S extends z.ZodType> } ? S : typeof pathId;
}>;

type RequestOf<M, P extends string, O> = object &
  ([ParamName<P>] extends [never] ? unknown : { params: ParamsOf<P, O> }) &
  (O extends { query: infer S extends Shape } ? { query: ReturnType<typeof strict<S>> } : unknown) &
  (O extends { body: infer S extends z.ZodType } ? { body: ReturnType<typeof jsonBody<S>> } : unknown) &
  (M extends "get"
    ? unknown
    : O extends { ok: { headers: unknown } }
      ? { headers: typeof ifMatch }
      : unknown);

type ResponsesOf<O> = O extends { ok: unknown } | { created: unknown } | { accepted: unknown }
  ? (O extends { ok: infer A } ? { 200: A } : unknown) &
      (O extends { created: infer A } ? { 201: A } : unknown) &
      (O extends { accepted: infer A } ? { 202: A } : unknown)
  : { 204: typeof noContent };

type Config<M, P extends string, O> = {
  method: M;
  path: P;
  request: RequestOf<M, P, O>;
  responses: ResponsesOf<O>;
};

/**
 * Returns the function that declares the endpoints of one noun: method, path, input, answers, and who may call it.
 * Authorization runs before validation, so that validation reveals nothing to other callers. Common error responses are
 * documented automatically.
 */
export function routesOf(tag: string) {
  return <M extends RouteConfig["method"], P extends string, O extends Options>(
    method: M,
    path: P,
    options: O,
  ) => {
    const { summary, description, access, scope = scopeOf(method, access) } = options;
    const { faults = {}, ok, created, accepted, ofEnvironments = false } = options;
    const request = requestOf(method, path, options);
    const documented = {
      ...{ method, path, tags: [tag], operationId: operationIdOf(method, path) },
      ...onlyGiven({ summary, description }),
      middleware: guard(access, scope, request, ofEnvironments),
      security: securityOf(access),
      ...(Object.keys(request).length > 0 ? { request } : {}),
      responses: {
        ...faultResponses(access, request, faults),
        ...onlyGiven({ 200: ok, 201: created, 202: accepted }),
        ...(ok || created || accepted ? {} : { 204: noContent }),
      },
      "x-access": typeof access === "string" ? access : Object.entries(access).flat().join(" "),
      "x-scope": access === "anonymous" ? undefined : scope,
    };
    // The type contains only the route's own responses, so that a client that checked `ok` gets no union with errors.
    return createRoute(documented) as unknown as Config<M, P, O>;
  };
}

/** Every parameter of the path is an id, unless `params` says otherwise. */
function requestOf(method: string, path: string, { params, query, body, ok }: Options) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const ids = idParams(...names.filter((name) => !(name in (params ?? {}))));
  return {
    ...(names.length > 0 ? { params: ids.extend(params ?? {}) } : {}),
    ...(query ? { query: strict(query) } : {}),
    ...(ok && "headers" in ok && method !== "get" ? { headers: ifMatch } : {}),
    ...(body ? { body: jsonBody(body) } : {}),
  };
}

/** The app of one noun; api.ts mounts it. */
export function newApi() {
  return new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidInput(result.target, result.error.issues);
    },
  });
}

/** `post /projects/{id}/webhook/reset-key` → `postProjectsWebhookResetKeyById`, for client generators. */
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

/** After a body that took longer, the caller is looked up again: they may have lost their rights meanwhile. */
const promptBodyMs = 10;

function guard(
  access: Access,
  scope: TokenScope,
  { headers, body }: { headers?: unknown; body?: unknown },
  ofEnvironments: boolean,
) {
  return createMiddleware<ApiEnv>(async (c, next) => {
    await admit(c, access, scope);
    if (!ofEnvironments) refuseEnvironment(c);
    if (headers === undefined) refuseCondition(c);
    // After authorization, so that no body of an unauthorized caller is read. The runtime discards an unread body.
    if (body !== undefined) {
      const startedAt = performance.now();
      await readJsonBody(c, access === "anonymous" ? anonymousLimits : knownCallerLimits);
      if (performance.now() - startedAt > promptBodyMs) {
        c.set("identity", await c.var.identify());
        await admit(c, access, scope);
      }
    }
    await next();
  });
}

function refuseEnvironment(c: ApiContext): void {
  const { project } = c.var;
  if (!project?.environment || !isUnsafe(c.req.method)) return;
  const { environment, parentId, name } = project;
  const values = {
    environment: environment.name,
    project: name.slice(0, -environment.name.length - 1),
    id: parentId ?? 0,
  };
  throw new Fault("conflict", newReason("environment_of", values));
}

/** A condition must not be ignored: the client would assume that it was met. */
function refuseCondition(c: ApiContext): void {
  const condition = c.req.header("if-match");
  if (condition === undefined || condition.trim() === "*" || !isUnsafe(c.req.method)) return;
  throw new Fault("changed_meanwhile", newReason("no_revision"));
}

async function admit(c: ApiContext, access: Access, scope: TokenScope): Promise<void> {
  if (access === "anonymous") return;
  const { caller, fault } = c.var.identity;
  if (fault) throw fault;
  const { project, group } = await c.var.permissions.authorize(caller, access, scope, pathIdOf(c, access));
  if (project) c.set("project", project);
  if (group) c.set("group", group);
}

/** The `id` of the path. An invalid one becomes 0, which does not exist, so that the response is 404. */
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
      messageParts: reasonPartsShape,
      fields: z
        .array(
          z.object({
            field: z.string().openapi({ example: "name" }),
            message: z.string().openapi({ example: "is required" }),
            messageParts: reasonPartsShape,
          }),
        )
        .optional(),
    }),
  })
  .openapi("Error");

function faultResponses(access: Access, request: { headers?: unknown }, own: Record<number, string>) {
  const fault = (description: string) => ({
    description,
    content: { "application/json": { schema: errorShape } },
  });
  const isAnonymous = access === "anonymous";
  return {
    ...(Object.keys(request).length > 0
      ? {
          400: fault("The body is not JSON."),
          422: fault("The input is not right; `fields` says where."),
        }
      : {}),
    ...(isAnonymous ? {} : { 401: fault("The credential is missing, expired or revoked.") }),
    ...(isAnonymous ? {} : { 403: fault("The caller lacks the permission or the scope.") }),
    ...(typeof access === "string" ? {} : { 404: fault("It does not exist, or the caller may not see it.") }),
    ...("headers" in request
      ? { 412: fault("The resource has changed since the revision in `If-Match`.") }
      : {}),
    ...Object.fromEntries(Object.entries(own).map(([status, description]) => [status, fault(description)])),
  };
}

/** Throws 404 if the thing is missing. */
export function found<T>(thing: T | null | undefined, sentence: Reason): T {
  if (thing === null || thing === undefined) throw new Fault("not_found", sentence);
  return thing;
}
