import { z } from "zod";
import { notifyTargetBody } from "../../../http/api/notify-shape.ts";
import { credentialBody, keyKinds } from "../../../http/api/project-secrets.ts";
import { projectBodies } from "../../../http/api/project-shape.ts";
import { secretBody } from "../../../http/api/secret-shape.ts";
import { readOnlyNames, webhookBody } from "../../../http/api/webhook-shape.ts";
import { environmentFile, environmentFrom, maxEnvironments } from "../../../model/environment/environment.ts";
import type { FileFault } from "../../../model/pipeline-file/file-fault.ts";
import { type ReadFields, readFields } from "../../../model/pipeline-file/read-fields.ts";
import { variableName } from "../../../model/settings/variables.ts";
import { strict } from "../../../reason/schema-forms.ts";

/*
 * The file of `slipway project apply`. Its fields are those of the API's bodies, so a new field of a project or of a webhook is
 * in the file at once. Only what must not be written in a file has another form: a secret is the name of a shell variable.
 */

const second = "a second secret ends by itself; send it with the API when you change the first";

/** Fields of the bodies that the file does not have, and why. */
export const leftOut = {
  project: { stages: "`pipeline` says the same and more" },
  notify: { id: "targets are found by their address and format, so that one file fits several servers" },
  webhook: {
    clearSecret: "`secret: null` says it",
    secondSecret: second,
    clearSecondSecret: second,
    secondSecretUntil: second,
  },
} as const;

const shellVariable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of a shell variable: letters, digits and _");

/** The message for a secret that is written in the file itself. */
const noSecret = "must name the shell variable that has the value, such as { from: DEPLOY_TOKEN }";

const fromShell = strict({ from: shellVariable }, noSecret);

/** The address of a target may be a secret, or none, such as `channel:news`. */
const address = z.union([notifyTargetBody.shape.url.unwrap(), fromShell]);

const target = strict({
  ...without(notifyTargetBody.shape, leftOut.notify),
  url: address,
  secret: fromShell.nullable().optional(),
});

const webhook = strict({
  ...without(webhookBody.shape, leftOut.webhook, readOnlyNames),
  secret: fromShell.nullable().optional(),
});

const secret = strict({ from: shellVariable, ...without(secretBody.shape, { value: "" }) }, noSecret);

export const [tokenBody, sshBody] = credentialBody.options;
const credential = z.discriminatedUnion("type", [
  strict({ ...tokenBody.shape, token: fromShell }),
  strict({ ...sshBody.shape, privateKey: fromShell }),
]);

export type KeyKind = keyof typeof keyKinds;
const keys = strict(
  Object.fromEntries(Object.keys(keyKinds).map((kind) => [kind, fromShell.nullable()])) as Record<
    KeyKind,
    z.ZodNullable<typeof fromShell>
  >,
).partial();

/** Which clone addresses are allowed is a setting of the server, which says it. */
const bodies = projectBodies({ allowLocal: true, samplesDir: "", trusted: [] });

const secrets = z.record(variableName, secret.nullable()).optional();

/** An environment has secrets of its own, besides those of the project. */
const environment = strict({ ...environmentFile.shape, secrets }).transform(
  ({ secrets: own = {}, ...sent }) => ({ ...environmentFrom(sent), secrets: own }),
);

/** What is not part of the project's own body there, or has another form. */
const ownFields = {
  notify: z.array(target).optional(),
  webhook: webhook.optional(),
  secrets,
  credential: credential.nullable().optional(),
  keys: keys.optional(),
};

/** Every field is optional: what a file does not say stays as it is. */
const environments = z.array(environment).max(maxEnvironments).optional();
export const changeSchema = strict({
  ...{ ...without(bodies.update.shape, leftOut.project), environments },
  ...ownFields,
});
const createSchema = strict({
  ...{ ...without(bodies.create.shape, leftOut.project), environments },
  ...ownFields,
});
export type ProjectFile = z.output<typeof changeSchema>;

/** The settings that the file writes as the body of the project has them. */
export const settingShape = without(changeSchema.shape, ownFields);
export type SettingName = keyof typeof settingShape;

/** The file, or what is wrong with it. With `create` it must say what a new project needs. */
export function readProjectFile(
  text: string,
  { create = false } = {},
): ReadFields<ProjectFile> | FileFault[] {
  return readFields<z.ZodType<ProjectFile>>(text, create ? createSchema : changeSchema, {
    empty: "the file is empty; `slipway project export <project>` prints an example",
    noMap: "the file must be a map with the settings of a project, such as name, git and pipeline",
    nameFault: leftOutFault,
  });
}

/** What people look for in the file, and why it is not there. */
const elsewhere: Record<string, Readonly<Record<string, string>>> = {
  "": { ...leftOut.project, members: "people differ between servers; add them in the console" },
  notify: leftOut.notify,
  webhook: leftOut.webhook,
};

function leftOutFault(path: readonly PropertyKey[]): string | null {
  const reason = elsewhere[path.length === 1 ? "" : String(path[0])]?.[String(path.at(-1))];
  return reason === undefined ? null : `cannot be in the file: ${reason}`;
}

function without<S extends object, const N extends string>(
  shape: S,
  left: Readonly<Record<N, unknown>>,
  alsoLeft: readonly string[] = [],
): Omit<S, N> {
  const entries = Object.entries(shape).filter(([name]) => !(name in left || alsoLeft.includes(name)));
  return Object.fromEntries(entries) as Omit<S, N>;
}
