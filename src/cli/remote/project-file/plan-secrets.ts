import { keyBody, keyKinds } from "../../../http/api/project-secrets.ts";
import { secretBody } from "../../../http/api/secret-shape.ts";
import { gitOriginOf } from "../../../model/git/git-url.ts";
import { boundSecrets, reservedSecrets } from "../../../model/sealed.ts";
import { type KeyKind, type ProjectFile, sshBody, tokenBody } from "./schema.ts";
import type { Fields, ProjectState } from "./settings.ts";
import { type Shell, shownAs, stored } from "./shell.ts";
import type { Part, Step } from "./step.ts";

const { value: secretRule } = secretBody.shape;

/** What is stored one by one: the clone credential, the keys, and the secrets of scripts. */
export function planSecrets(file: ProjectFile, state: ProjectState | null, shell: Shell): Part[] {
  const isStored = storedSecrets(file, state);
  const parts = [planCredential(file, isStored, shell)];
  for (const [kind, key] of Object.entries(file.keys ?? {}))
    parts.push(planKey(kind as KeyKind, key, isStored, shell));
  const place = { field: ["secrets"], held: state?.project.secrets ?? [], title: "" };
  for (const [name, secret] of Object.entries(file.secrets ?? {}))
    parts.push(planSecret(name, secret, place, shell));
  for (const [index, { name: environment, secrets }] of (file.environments ?? []).entries()) {
    const held = state?.environments.find(({ name }) => name === environment)?.secrets ?? [];
    const field = ["environments", String(index), "secrets"];
    const own = { field, held, environment, title: ` of ${environment}` };
    for (const [name, secret] of Object.entries(secrets)) parts.push(planSecret(name, secret, own, shell));
  }
  return parts;
}

/** Where secrets of scripts are stored: for the project, or for one of its environments. */
interface SecretPlace {
  /** In the file. */
  field: string[];
  held: ProjectState["project"]["secrets"];
  environment?: string;
  title: string;
}

/** A server of Git gets only the secrets that were stored for it: a change to another one deletes them. */
function storedSecrets(file: ProjectFile, state: ProjectState | null) {
  const before = state?.project.git.url ?? "";
  const isMoved = state !== null && gitOriginOf(file.git?.url ?? before) !== gitOriginOf(before);
  const isLost = (name: string) => isMoved && boundSecrets.some((bound) => bound === name);
  return {
    credential: state?.project.git.credentialSet === true && !isLost(reservedSecrets.credential),
    key: (kind: KeyKind) => state?.keys[kind] === true && !isLost(keyKinds[kind]),
  };
}
type IsStored = ReturnType<typeof storedSecrets>;

function planCredential({ credential }: ProjectFile, isStored: IsStored, shell: Shell): Part {
  const before = isStored.credential ? stored : undefined;
  const at = { path: "/credential", field: ["credential"], what: "the clone credential" };
  if (credential === undefined) return part("credential", before, before, []);
  if (credential === null)
    return part("credential", before, undefined, before ? [{ ...at, method: "DELETE" }] : []);
  const isToken = credential.type === "token";
  const field = isToken ? "token" : "privateKey";
  const { from } = isToken ? credential.token : credential.privateKey;
  const rule = isToken ? tokenBody.shape.token : sshBody.shape.privateKey;
  const value = shell.secret(["credential", field], from, isStored.credential, rule);
  if (value === undefined) return part("credential", before, before, []);
  const shown = { ...credential, [field]: shownAs(from) };
  return part("credential", before, shown, [
    { ...at, method: "PUT", body: { ...credential, [field]: value } },
  ]);
}

function planKey(
  kind: KeyKind,
  key: { from: string } | null | undefined,
  isStored: IsStored,
  shell: Shell,
): Part {
  const field = `keys.${kind}`;
  const before = isStored.key(kind) ? stored : undefined;
  const at = { path: `/keys/${kind}`, field: ["keys", kind], what: `the key ${kind}` };
  if (key === null) return part(field, before, undefined, before ? [{ ...at, method: "DELETE" }] : []);
  const value = key && shell.secret(["keys", kind], key.from, isStored.key(kind), keyBody.shape.value);
  if (!key || value === undefined) return part(field, before, before, []);
  return part(field, before, shownAs(key.from), [{ ...at, method: "PUT", body: { value } }]);
}

function planSecret(
  name: string,
  secret: NonNullable<ProjectFile["secrets"]>[string],
  place: SecretPlace,
  shell: Shell,
): Part {
  const path = [...place.field, name];
  const field = path.join(".");
  const held = place.held.find((each) => each.name === name);
  const before = held && { value: stored, as: held.as, ...(held.isScopeChosen ? { scope: held.scope } : {}) };
  const { environment, title } = place;
  const at = {
    ...{ path: `/secrets/${name}`, field: path, what: `the secret ${name}${title}` },
    ...(environment === undefined ? {} : { environment }),
  };
  if (secret === null) return part(field, before, undefined, before ? [{ ...at, method: "DELETE" }] : []);
  const { from, ...use } = secret;
  // More stages get a secret only with its value.
  const isWider = held?.scope === "deploy" && use.scope === "all";
  const value = shell.secret(path, from, held !== undefined && !isWider, secretRule);
  const after: Fields = { ...before, ...use, value: value === undefined ? stored : shownAs(from) };
  if (value !== undefined)
    return part(field, before, after, [{ ...at, method: "PUT", body: { value, ...use } }]);
  const isChanged = !Bun.deepEquals(before, after);
  return part(field, before, after, isChanged ? [{ ...at, method: "PATCH", body: use }] : []);
}

function part(field: string, before: unknown, after: unknown, steps: Step[]): Part {
  return { before: { [field]: before }, after: { [field]: after }, steps };
}
