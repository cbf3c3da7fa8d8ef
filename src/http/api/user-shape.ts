import { passwordMaxLength, passwordMinLength } from "../../account/password.ts";
import { type User, userRevision, userSchema } from "../../model/user.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { revision } from "./revision.ts";
import { answered, text } from "./scalars.ts";
import { jsonOf, z } from "./shape.ts";

export const userShape = z
  .object({
    ...answered(userSchema.omit({ language: true })),
    revision,
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
  description:
    "Keeps the user's API tokens and linked accounts; without it they are revoked and unlinked. All sessions end in either case.",
});

/** A password as it is tried at sign-in: any text that is not absurd. */
export const triedPassword = text(1024).openapi({ format: "password" });
