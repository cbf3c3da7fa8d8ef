import type { InferResponseType } from "hono/client";
import { answerOf, api, queryClient } from "./api.ts";
import { meQuery } from "./session.ts";

export type Provider = InferResponseType<typeof api.auth.providers.$get, 200>["items"][number];
export type Linked = InferResponseType<typeof api.auth.identities.$get, 200>["items"][number];
export type Entered = InferResponseType<typeof api.auth.link.$post, 200>;

export const providersQuery = {
  queryKey: ["sign-in-providers"],
  queryFn: () => answerOf(api.auth.providers.$get()),
  staleTime: 60_000,
} as const;

export const identitiesQuery = {
  queryKey: ["identities"],
  queryFn: () => answerOf(api.auth.identities.$get()),
} as const;

/** Leaves the console for the pages of a provider, which send the browser back to `/sign-in/{name}`. */
export async function goToProvider(
  name: string,
  options: { returnTo: string; link: boolean },
): Promise<void> {
  const json = options;
  const { address } = await answerOf(api.auth.providers[":name"].begin.$post({ param: { name }, json }));
  location.assign(address);
}

/** The answer of a provider counts once, and a page may be drawn twice. */
const finishing = new Map<string, Promise<Entered>>();

export function finishSignIn(name: string, query: string): Promise<Entered> {
  const known = finishing.get(query);
  if (known !== undefined) return known;
  const made = answerOf(api.auth.providers[":name"].finish.$post({ param: { name }, json: { query } }));
  finishing.set(query, made);
  return made;
}

export function linkAccount(username: string, password: string): Promise<Entered> {
  return answerOf(api.auth.link.$post({ json: { username, password } }));
}

/** After a sign-in: everything that was loaded for another user is loaded again. */
export async function startSession(): Promise<void> {
  queryClient.removeQueries({ predicate: (query) => query.queryKey[0] !== meQuery.queryKey[0] });
  await queryClient.fetchQuery({ ...meQuery, staleTime: 0 });
}
