import { bitbucket } from "./bitbucket.ts";
import { codeup } from "./codeup.ts";
import { generic } from "./generic.ts";
import type { GitHost } from "./git-host.ts";
import { gitea } from "./gitea.ts";
import { gitee } from "./gitee.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { gogs } from "./gogs.ts";
import { hosta, hostb, hostc, hostd } from "./unnamed-hosts.ts";

/** The Git hosts. A host that also sends the headers of another one follows it. */
export const gitHosts = {
  ...{ hosta, hostb, hostc, hostd, generic },
  github,
  gitlab,
  gitee,
  codeup,
  gogs,
  gitea,
  bitbucket,
} satisfies Record<string, GitHost>;

export type ProviderName = keyof typeof gitHosts;

/** Hosts whose API creates webhooks and deploy keys. */
export type HostKind = {
  [Name in ProviderName]: (typeof gitHosts)[Name] extends { api: object } ? Name : never;
}[ProviderName];

export const providerNames = Object.keys(gitHosts) as [ProviderName, ...ProviderName[]];

export const hostKinds = providerNames.filter((name) => "api" in gitHosts[name]) as [HostKind, ...HostKind[]];

export function gitHostOf(name: ProviderName): GitHost {
  return gitHosts[name];
}
