import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isTrusted } from "../model/git/git-url.ts";
import type { CheckedAddress } from "./checked-address.ts";
import { connectLimitMs, silenceLimitMs } from "./silence-watch.ts";

/** How programs of this machine reach the network. */
export const proxyVariables = [
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
];

/** A repository at its Git host. */
export interface GitRemote {
  url: string;
  credential: { type: "token"; username: string; token: string } | { type: "ssh"; privateKey: string } | null;
  /** Whether addresses other than https and ssh may be used. */
  allowLocal: boolean;
  /** Origins of Git servers that may be used over http too. */
  trusted: readonly string[];
}

/** The environment in which git talks to a project's repository, and the files it needs for that. */
export interface GitEnvironment {
  env: Record<string, string>;
  /** The same without the credential. */
  anonymous: Record<string, string>;
  remove(): void;
}

/** Read by git before anything else; the repository and the machine's own settings cannot undo it. */
const gitSettings: Record<string, string> = {
  "core.hooksPath": "/dev/null",
  "core.fsmonitor": "false",
  "core.autocrlf": "false",
  "credential.helper": "",
  "gc.auto": "0",
  "protocol.version": "2",
  "advice.detachedHead": "false",
  "fetch.recurseSubmodules": "false",
  "init.defaultBranch": "slipway",
  "init.templateDir": "",
  "http.lowSpeedLimit": "1",
  "http.lowSpeedTime": seconds(silenceLimitMs),
  "lfs.dialtimeout": seconds(connectLimitMs),
  "lfs.tlstimeout": seconds(connectLimitMs),
  "lfs.activitytimeout": seconds(silenceLimitMs),
  "lfs.transfer.maxretries": "2",
};

function seconds(ms: number): string {
  return String(ms / 1000);
}

/**
 * Answers only git's exact prompts for the project's own server, so that a redirect or a submodule on another server gets no
 * credential. The whole line is compared: a part of it could be in the user name of another server's address.
 */
const askpass = `#!/bin/sh
nl='
'
case "$nl$SLIPWAY_GIT_ASKS_USERNAME$nl" in *"$nl$1$nl"*) printf '%s\\n' "$SLIPWAY_GIT_USERNAME"; exit 0 ;; esac
case "$nl$SLIPWAY_GIT_ASKS_PASSWORD$nl" in *"$nl$1$nl"*) printf '%s\\n' "$SLIPWAY_GIT_TOKEN"; exit 0 ;; esac
exit 1
`;

/** Git's prompts for user name and password, one per line. */
function questionsFor(url: string, username: string): { username: string; password: string } {
  const written = /^(https?:\/\/)([^/?#]*)/i.exec(url);
  if (written === null || !URL.canParse(url)) return { username: "", password: "" };
  const scheme = (written[1] ?? "").toLowerCase();
  // The host as written in the address, and as a redirect within the server may write it.
  const hosts = new Set([written[2] ?? "", new URL(url).host]);
  // Newer versions of git encode the name.
  const names = new Set([username, percentEncoded(username)].map((name) => (name === "" ? "" : `${name}@`)));
  return {
    username: [...hosts].map((host) => `Username for '${scheme}${host}': `).join("\n"),
    password: [...hosts]
      .flatMap((host) => [...names].map((name) => `Password for '${scheme}${name}${host}': `))
      .join("\n"),
  };
}

/** Percent-encodes as git does: every character except letters, digits and `-._~`. */
function percentEncoded(text: string): string {
  const hex = (letter: string) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, hex);
}

/** Passed on from our own environment: how to reach the network and trust certificates. */
const passedOn = ["PATH", ...proxyVariables, "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"];

/**
 * A repository at a trusted origin may use http, but only at trusted origins: every other http address, such as that of a
 * submodule, becomes one that git refuses, and no redirect is followed.
 */
function trustedSettings({ url, trusted }: GitRemote): Record<string, string> {
  const own = /^https?:\/\/[^/]+/i.exec(url)?.[0] ?? "";
  const allowed = [...trusted, own].map((origin) => `${origin}/`);
  return {
    "http.followRedirects": "false",
    "url.untrusted://.insteadOf": "http://",
    ...Object.fromEntries(allowed.map((prefix) => [`url.${prefix}.insteadOf`, prefix])),
  };
}

/**
 * Credentials reach git by files of this folder (0600) and by environment: never on a command line, where every user of
 * the machine could read them.
 */
export function openGitEnvironment(
  repo: GitRemote,
  folders: { temp: string; knownHosts: string },
  own: Record<string, string | undefined>,
  checked: CheckedAddress = { git: {}, ssh: {} },
): GitEnvironment {
  const home = mkdtempSync(join(folders.temp, "git-"));
  const isAtTrusted = !repo.allowLocal && isTrusted(repo.url, repo.trusted);
  const settings = { ...gitSettings, ...checked.git, ...(isAtTrusted ? trustedSettings(repo) : {}) };
  const env: Record<string, string> = {
    HOME: home,
    LC_ALL: "C.UTF-8",
    GIT_TERMINAL_PROMPT: "0",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ALLOW_PROTOCOL: repo.allowLocal
      ? "https:ssh:http:git:file"
      : isAtTrusted
        ? "https:ssh:http"
        : "https:ssh",
    GIT_SSH_COMMAND: sshCommand(folders.knownHosts, null, checked.ssh),
    GIT_CONFIG_COUNT: String(Object.keys(settings).length),
  };
  for (const name of passedOn) {
    const value = own[name];
    if (value !== undefined) env[name] = value;
  }
  for (const [index, [key, value]] of Object.entries(settings).entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  const anonymous = { ...env };
  if (repo.credential?.type === "token") {
    const helper = join(home, "askpass");
    writeFileSync(helper, askpass, { mode: 0o700 });
    env.GIT_ASKPASS = helper;
    const questions = questionsFor(repo.url, repo.credential.username);
    env.SLIPWAY_GIT_ASKS_USERNAME = questions.username;
    env.SLIPWAY_GIT_ASKS_PASSWORD = questions.password;
    env.SLIPWAY_GIT_USERNAME = repo.credential.username;
    env.SLIPWAY_GIT_TOKEN = repo.credential.token;
  }
  if (repo.credential?.type === "ssh") {
    const keyFile = join(home, "key");
    // Pasted from another system it may have line ends that ssh does not read.
    const lines = repo.credential.privateKey.trim().split(/\r\n?|\n/);
    writeFileSync(keyFile, `${lines.join("\n")}\n`, { mode: 0o600 });
    chmodSync(keyFile, 0o600);
    env.GIT_SSH_COMMAND = sshCommand(folders.knownHosts, keyFile, checked.ssh);
  }
  return { env, anonymous, remove: () => rmSync(home, { recursive: true, force: true }) };
}

/**
 * A host is trusted on first sight and must then stay the same. Without a key of the project none is offered: those of
 * our own user are not the project's.
 */
function sshCommand(knownHosts: string, keyFile: string | null, checked: CheckedAddress["ssh"]): string {
  const options = {
    ...checked,
    BatchMode: "yes",
    StrictHostKeyChecking: "accept-new",
    UserKnownHostsFile: sshPath(knownHosts),
    ConnectTimeout: seconds(connectLimitMs),
    IdentitiesOnly: "yes",
    IdentityAgent: "none",
    IdentityFile: keyFile === null ? "none" : sshPath(keyFile),
  };
  const given = Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  return ["ssh", "-F", "/dev/null", ...given.map(shellWord)].join(" ");
}

/** As ssh reads a path among its settings: in double quotes, and with tokens behind a percent sign. */
function sshPath(path: string): string {
  return `"${path.replaceAll(/["\\]/g, "\\$&").replaceAll("%", "%%")}"`;
}

/** Git gives the command to a shell. */
function shellWord(text: string): string {
  return /^[\w=.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
