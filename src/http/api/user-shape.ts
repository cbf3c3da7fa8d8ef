import { passwordMaxLength, passwordMinLength } from "../../account/password.ts";
import { type User, userRevision } from "../../model/user.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { revision } from "./revision.ts";
import { text, time } from "./scalars.ts";
import { jsonOf, z } from "./shape.ts";

export const userShape = z
  .object({
    id: z.number().int(),
    username: z.string().openapi({ example: "ann" }),
    role: z.enum(["admin", "user"]),
    disabled: z.boolean(),
    revision,
    createdAt: time,
  })
  .openapi("User");

export function userJson(user: User) {
  return jsonOf(userShape, { ...user, revision: userRevision(user) });
}

/** Letters, digits and `._-@`, so that a name stands in a log, an address or a channel without quoting. */
export const newUsername = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]*$/, ruleText("username_invalid"))
  .openapi({ example: "ann" });

export const newPassword = text(passwordMaxLength, passwordMinLength).openapi({
  format: "password",
  example: "a good long sentence",
});

/** Only together with a new password. */
export const keepTokens = z.boolean().openapi({
  description: "Keeps the user's API tokens; without it they are revoked. All sessions end in either case.",
});

/** A password as it is tried at sign-in: any text that is not absurd. */
export const triedPassword = text(1024).openapi({ format: "password" });
