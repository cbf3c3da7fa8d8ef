import type { InferResponseType } from "hono/client";
import { answerOf, api, queryClient } from "./api.ts";
import { followLanguage } from "./follow-language.ts";
import { live } from "./live.ts";

export type Me = InferResponseType<typeof api.auth.me.$get, 200>;

export const meQuery = {
  queryKey: ["me"],
  queryFn: async (): Promise<Me> => {
    const me = await answerOf(api.auth.me.$get());
    followLanguage(me.language);
    return me;
  },
  retry: false,
  staleTime: 60_000,
} as const;

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
