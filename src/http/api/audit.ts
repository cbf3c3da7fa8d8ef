import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { queryId, queryTime, text, time } from "./scalars.ts";
import { json, jsonOf, listJson, listOf, onlyGiven, pageQuery, z } from "./shape.ts";

const route = routesOf("audit");
const auditEntry = z
  .object({
    id: z.number().int(),
    at: time,
    userId: z.number().int().nullable(),
    username: z.string(),
    action: z.string().openapi({ example: "project.update" }),
    projectId: z.number().int().nullable(),
    subject: z.string().openapi({ example: "project shop" }),
    detail: z.record(z.string(), z.unknown()),
    remoteIp: z.string(),
  })
  .openapi("AuditEntry");

const listAudit = route("get", "/audit", {
  summary: "List who changed what",
  description: "Newest first. Secrets never stand in `detail`.",
  access: "admin",
  query: {
    ...pageQuery,
    userId: queryId.optional(),
    projectId: queryId.optional(),
    action: text(100).optional().openapi({ example: "project.update" }),
    from: queryTime.optional(),
    to: queryTime.optional(),
  },
  ok: json("One page of the audit log.", listOf(auditEntry, "AuditList")),
});

export function auditApi({ store: { audit } }: ApiDeps) {
  return newApi().openapi(listAudit, async (c) => {
    const { page, pageSize, ...filter } = c.req.valid("query");
    return c.json(
      listJson(await audit.list(onlyGiven(filter), { page, pageSize }), (entry) => jsonOf(auditEntry, entry)),
      200,
    );
  });
}
