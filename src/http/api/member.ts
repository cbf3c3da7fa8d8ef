import { listOf, strict, z } from "./shape.ts";

/** Members of a project and of a group look alike. */
export const permission = z
  .enum(["view", "manage"])
  .openapi({ description: "`manage` includes `view`.", example: "view" });

export const memberShape = z
  .object({ userId: z.number().int(), username: z.string(), permission })
  .openapi("Member");

export const memberList = listOf(memberShape, "MemberList");

export const memberBody = strict({ permission });
