import { z } from "zod";
import type { SignInProvider } from "../../config/sign-in-provider.ts";
import { needsGroups } from "./admission.ts";
import type { Person } from "./person.ts";

/** Reads what an API of a provider answers to a person's token. */
export type ReadAccount = (path: string) => Promise<unknown>;

/** A provider that speaks OAuth 2.0 alone: where it is asked, and how its API describes a person. */
export interface OAuthAccounts {
  authorizePath: string;
  tokenPath: string;
  apiOf(address: string): string;
  scopesOf(provider: SignInProvider): string[];
  read(read: ReadAccount, provider: SignInProvider): Promise<Omit<Person, "issuer" | "providerSession">>;
}

const account = z.object({ id: z.number().int(), login: z.string().min(1) });
const names = z.array(z.object({ login: z.string() }));
const teams = z.array(z.object({ slug: z.string(), organization: z.object({ login: z.string() }) }));
const githubEmails = z.array(z.object({ email: z.string(), verified: z.boolean() }));
const giteeEmails = z.array(z.object({ email: z.string(), state: z.string() }));

/** Enough pages for a person in a thousand organisations and teams. */
const maxPages = 10;
const pageSize = 100;

async function allPages<T>(read: ReadAccount, path: string, schema: z.ZodType<T[]>): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; page <= maxPages; page++) {
    const items = schema.parse(await read(`${path}?per_page=${pageSize}&page=${page}`));
    all.push(...items);
    if (items.length < pageSize) break;
  }
  return all;
}

export const oauthAccounts: Partial<Record<SignInProvider["type"], OAuthAccounts>> = {
  github: {
    authorizePath: "/login/oauth/authorize",
    tokenPath: "/login/oauth/access_token",
    apiOf: (address) => (address === "https://github.com" ? "https://api.github.com" : `${address}/api/v3`),
    scopesOf: (provider) => [
      ...(needsGroups(provider) ? ["read:org"] : []),
      ...(provider.domains.length > 0 ? ["user:email"] : []),
    ],
    async read(read, provider) {
      const { id, login } = account.parse(await read("/user"));
      const emails = provider.domains.length > 0 ? githubEmails.parse(await read("/user/emails")) : [];
      const organisations = needsGroups(provider) ? await allPages(read, "/user/orgs", names) : null;
      const inTeams = organisations === null ? [] : await allPages(read, "/user/teams", teams);
      return {
        subject: String(id),
        login,
        emails: emails.filter(({ verified }) => verified).map(({ email }) => email),
        groups: organisations && [
          ...organisations.map((organisation) => organisation.login),
          ...inTeams.map(({ slug, organization }) => `${organization.login}/${slug}`),
        ],
      };
    },
  },
  gitee: {
    authorizePath: "/oauth/authorize",
    tokenPath: "/oauth/token",
    apiOf: (address) => `${address}/api/v5`,
    scopesOf: (provider) => [
      "user_info",
      ...(needsGroups(provider) ? ["groups"] : []),
      ...(provider.domains.length > 0 ? ["emails"] : []),
    ],
    async read(read, provider) {
      const { id, login } = account.parse(await read("/user"));
      const emails = provider.domains.length > 0 ? giteeEmails.parse(await read("/emails")) : [];
      const organisations = needsGroups(provider) ? await allPages(read, "/user/orgs", names) : null;
      return {
        subject: String(id),
        login,
        emails: emails.filter(({ state }) => state === "confirmed").map(({ email }) => email),
        groups: organisations === null ? null : organisations.map((organisation) => organisation.login),
      };
    },
  },
};
