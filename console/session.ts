import type { InferResponseType } from "hono/client";
import { ApiProblem, answerOf, api, queryClient } from "./api.ts";
import { followLanguage } from "./follow-language.ts";
import { homeViewIn, startWithHome } from "./home-query.ts";
import { live } from "./live.ts";

export type Me = InferResponseType<typeof api.auth.me.$get, 200>;

export const meQuery = {
  queryKey: ["me"],
  queryFn: async (): Promise<Me> => {
    const me = await readMe();
    followLanguage(me.language);
    return me;
  },
  retry: false,
  staleTime: 60_000,
} as const;

/** On Home the caller comes with the page's own data, so that a page load has one request for both. */
async function readMe(): Promise<Me> {
  if (location.pathname === "/")
    try {
      return (await startWithHome(homeViewIn(new URLSearchParams(location.search)))).me;
    } catch (problem) {
      const isRefused = problem instanceof ApiProblem && problem.status !== 0 && problem.status !== 401;
      if (!isRefused) throw problem;
    }
  return answerOf(api.auth.me.$get());
}

export async function signIn(username: string, password: string): Promise<void> {
  await answerOf(api.auth.login.$post({ json: { username, password, cookie: true } }));
  await queryClient.fetchQuery({ ...meQuery, staleTime: 0 });
}

/** Leaves nothing of the session behind on this page, whatever the server answers. */
export async function signOut(): Promise<void> {
  await api.auth.logout.$post().catch(() => null);
  forgetSession();
}

export function forgetSession(): void {
  live.close();
  queryClient.setQueryData(meQuery.queryKey, null);
  queryClient.removeQueries({ predicate: (query) => query.queryKey[0] !== meQuery.queryKey[0] });
}
