import type { HostKind, ProviderName } from "../src/git-host/hosts.ts";
import { t } from "./text/text.ts";

interface HostFacts {
  /** A function: it is translated. */
  name: string | (() => string);
  /** The webhooks of a repository, after its address. */
  webhookPage?: string;
}

interface ConnectedHostFacts extends HostFacts {
  /** Its public service; empty: there is no main one. */
  server: string;
  /** Where a token is created, with the form filled in as far as the host allows. */
  tokenPage: (use: "read" | "manage") => string;
}

/** The Git hosts. Steps and proof of each are texts of `hosts`, the rights of a token a text of `hostHook`. */
const hosts: Record<ProviderName, HostFacts> & Record<HostKind, ConnectedHostFacts> = {
  github: {
    name: "GitHub",
    webhookPage: "settings/hooks/new",
    server: "https://github.com",
    tokenPage: () => "settings/tokens/new?description=Slipway&scopes=repo",
  },
  gitlab: {
    name: "GitLab",
    webhookPage: "-/hooks",
    server: "https://gitlab.com",
    tokenPage: (use) =>
      `-/user_settings/personal_access_tokens?name=Slipway&scopes=${use === "read" ? "read_repository" : "api"}`,
  },
  gitee: {
    name: "Gitee",
    webhookPage: "hooks",
    server: "https://gitee.com",
    tokenPage: () => "profile/personal_access_tokens/new",
  },
  codeup: { name: () => t("hosts.codeupName") },
  gitea: {
    name: "Gitea / Forgejo",
    webhookPage: "settings/hooks/gitea/new",
    server: "",
    tokenPage: () => "user/settings/applications",
  },
  gogs: { name: "Gogs", webhookPage: "settings/hooks/gogs/new" },
  bitbucket: { name: "Bitbucket", webhookPage: "admin/webhooks" },
  generic: { name: () => t("hosts.genericName") },
  hosta: { name: () => t("hosts.hostaName") },
  hostb: { name: () => t("hosts.hostbName") },
  hostc: { name: () => t("hosts.hostcName") },
  hostd: { name: () => t("hosts.hostdName") },
};

const providers = Object.keys(hosts) as ProviderName[];

export function hostName(provider: ProviderName): string {
  const { name } = hosts[provider];
  return typeof name === "string" ? name : name();
}

export function hostChoices() {
  return providers.map((value) => ({ value, label: hostName(value) }));
}

export function isHostName(name: string | null): name is ProviderName {
  return name !== null && Object.hasOwn(hosts, name);
}

/** Hosts at which Slipway can create a webhook. */
export function isHostKind(provider: string | null): provider is HostKind {
  return isHostName(provider) && "tokenPage" in hosts[provider];
}

export const hostKinds = providers.filter(isHostKind);

/** The address of the public service; empty: there is no main one. */
export function serverOf(kind: HostKind): string {
  return hosts[kind].server;
}

/** Null: the host has no known page. */
export function webhookPathOf(provider: ProviderName): string | null {
  return hosts[provider].webhookPage ?? null;
}

export function tokenPathOf(kind: HostKind, use: "read" | "manage"): string {
  return hosts[kind].tokenPage(use);
}
