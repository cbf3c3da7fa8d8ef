import { isLoopbackHost } from "../listen-address.ts";
import { nearest } from "../nearest-name.ts";
import { secret, setting } from "./declare-setting.ts";
import {
  accessKey,
  boolean,
  durationFrom,
  type Kind,
  listOf,
  oneOf,
  type Reading,
  url,
} from "./setting-kinds.ts";
import { type ProviderRole, providerTypes, type SignInProvider } from "./sign-in-provider.ts";

/** Names of providers that everybody knows: nothing but their credentials has to be written. */
const knownHosts = {
  openid: null,
  github: { title: "GitHub", address: "https://github.com" },
  gitlab: { title: "GitLab", address: "https://gitlab.com" },
  gitee: { title: "Gitee", address: "https://gitee.com" },
  gitea: { title: "Gitea", address: null },
} as const;

/** Everybody can have an account there. */
const publicHosts = new Set(["github.com", "gitlab.com", "gitee.com", "gitea.com", "accounts.google.com"]);

const maxProviders = 20;

const word: Kind<string> = {
  name: "text",
  read: (raw) => {
    const reading = accessKey.read(raw);
    return "value" in reading ? { value: reading.value.trim() } : reading;
  },
};

const providerName: Kind<string> = {
  name: "name",
  read: (raw) =>
    typeof raw === "string" && /^[a-z0-9][a-z0-9-]{0,39}$/.test(raw)
      ? { value: raw }
      : { wrong: "must be 1 to 40 small letters, digits or hyphens: it is part of an address" },
};

const address: Kind<string> = {
  name: "URL",
  read(raw) {
    const reading = url("http", "https").read(raw);
    if ("wrong" in reading) return reading;
    const { username, search, hash } = new URL(reading.value);
    if (username !== "" || search !== "" || hash !== "")
      return { wrong: "must be an address without a user, a query and a fragment" };
    return { value: reading.value.replace(/\/(\.well-known\/openid-configuration)?$/, "") };
  },
};

const emailDomain: Kind<string> = {
  name: "domain",
  read: (raw) =>
    typeof raw === "string" && /^[^@\s.]+(\.[^@\s.]+)+$/.test(raw)
      ? { value: raw.toLowerCase() }
      : { wrong: 'must be the domain of e-mail addresses, such as "example.com"' },
};

const role: Kind<ProviderRole> = {
  name: "role",
  read(raw) {
    const read = readFields(raw, { group: word, admin: boolean, member: word, permission });
    if ("wrong" in read) return read;
    const { group, admin, member, permission: held } = read.value;
    if (group === undefined) return { wrong: "needs group, the name of a group at the provider" };
    if (admin === true && member === undefined && held === undefined)
      return { value: { group, admin: true } };
    if (admin === true || member === undefined)
      return { wrong: "needs either admin: true, or member with the name of a group of Slipway" };
    return { value: { group, member, permission: held ?? "view" } };
  },
};

const permission = oneOf("view", "manage");

const fields = {
  name: providerName,
  type: oneOf(...providerTypes),
  title: word,
  address,
  clientId: word,
  clientSecret: word,
  scopes: listOf(word),
  groupsClaim: word,
  loginClaim: word,
  domains: listOf(emailDomain),
  organisations: listOf(word),
  groups: listOf(word),
  roles: listOf(role),
  newAccounts: boolean,
};

const provider: Kind<SignInProvider> = {
  name: "provider",
  read(raw) {
    const read = readFields(raw, fields);
    if ("wrong" in read) return read;
    const { type = "openid", clientId, clientSecret, ...given } = read.value;
    const known = knownHosts[type];
    const name = given.name ?? (type === "openid" ? undefined : type);
    const at = given.address ?? known?.address;
    if (name === undefined) return { wrong: "needs name, which is part of its redirect address" };
    if (!at) return { wrong: `${name}: needs address, where the provider is found` };
    if (clientId === undefined || clientSecret === undefined)
      return {
        wrong: `${name}: needs clientId and clientSecret, which the provider shows for its application`,
      };
    const made: SignInProvider = {
      ...{ type, name, address: at, clientId, clientSecret },
      title: given.title ?? known?.title ?? name,
      scopes: given.scopes ?? [],
      groupsClaim: given.groupsClaim ?? "groups",
      loginClaim: given.loginClaim ?? "preferred_username",
      domains: given.domains ?? [],
      organisations: given.organisations ?? [],
      groups: given.groups ?? [],
      roles: given.roles ?? [],
      newAccounts: given.newAccounts ?? false,
    };
    const isOpen = [made.domains, made.organisations, made.groups].every((list) => list.length === 0);
    if (made.newAccounts && isOpen && publicHosts.has(new URL(at).hostname))
      return {
        wrong: `${name}: newAccounts would give everybody there an account; say who with domains, organisations or groups`,
      };
    return { value: made };
  },
};

const providers: Kind<SignInProvider[]> = {
  name: "list of providers",
  read(raw) {
    const list = typeof raw === "string" ? parsed(raw) : raw;
    if (!Array.isArray(list)) return { wrong: "must be a list of providers, in the environment as JSON" };
    if (list.length > maxProviders) return { wrong: `must be at most ${maxProviders} providers` };
    const read: SignInProvider[] = [];
    for (const entry of list) {
      const reading = provider.read(entry);
      if ("wrong" in reading) return { wrong: `has a provider that is not right: ${reading.wrong}` };
      if (read.some(({ name }) => name === reading.value.name))
        return { wrong: `has two providers with the name ${reading.value.name}` };
      read.push(reading.value);
    }
    return { value: read };
  },
};

function parsed(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return null;
  }
}

type Read<F> = { [Name in keyof F]?: F[Name] extends Kind<infer T> ? T : never };

/** The fields of an object. A message names the field and never its value, which may be a secret. */
function readFields<F extends Record<string, Kind<unknown>>>(raw: unknown, known: F): Reading<Read<F>> {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw))
    return { wrong: `must be fields such as ${Object.keys(known)[0]}` };
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(raw)) {
    const kind = known[name];
    if (!Object.hasOwn(known, name) || kind === undefined) {
      const meant = nearest(name, Object.keys(known));
      return { wrong: `${name} is no field of it${meant ? `; did you mean ${meant}?` : ""}` };
    }
    if (value === null) continue;
    const reading = kind.read(value);
    if ("wrong" in reading)
      return { wrong: `${name} ${"entry" in reading ? "has an entry that " : ""}${reading.wrong}` };
    read[name] = reading.value;
  }
  return { value: read as Read<F> };
}

/** Signing in with accounts of other programs. */
export const signInSettings = {
  "auth.providers": secret(
    providers,
    [],
    "Where people sign in with an account that they already have ([sign-in](sign-in.md)); in the environment and as a flag a JSON list.",
  ),
  "auth.local": setting(
    oneOf("everyone", "admins"),
    "everyone",
    "Whose passwords open a session; `admins` needs auth.providers, by which all others sign in.",
  ),
  "auth.refreshInterval": setting(
    durationFrom(60_000, 30 * 86_400_000),
    "8h",
    "How often a provider is asked whether a person who signed in with it may stay. If it gives no way to ask, the session ends then.",
  ),
};

/** Why the address of a provider cannot be used; null: it can. Tokens and secrets must not cross a network in plain text. */
export function insecureProvider(provider: SignInProvider, trusted: readonly string[]): string | null {
  const { protocol, hostname, origin } = new URL(provider.address);
  if (protocol === "https:" || isLoopbackHost(hostname) || trusted.includes(origin)) return null;
  return `${provider.name}: its address must begin with https://, or be one of hosts.trusted`;
}
