import { newReason, type Reason } from "../reason/reason.ts";

interface SshAddress {
  host: string;
  /** Empty where the address names none. */
  user: string;
  /** The program that runs git. */
  program: "runner" | "server";
}

/** What ssh prints, and the explanation that the task shows. */
const meanings: [said: RegExp, meaning: (address: SshAddress) => Reason][] = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed/i,
    ({ host, program }) => newReason("ssh_host_key", { host, program }),
  ],
  [/incorrect passphrase/i, () => newReason("ssh_passphrase")],
  [/Load key .*(invalid format|error in libcrypto|unsupported)/i, () => newReason("ssh_key_unreadable")],
  [
    /Permission denied \(/i,
    ({ host, user }) =>
      user === "" ? newReason("ssh_no_user", { host }) : newReason("ssh_key_rejected", { host, user }),
  ],
  [/Could not resolve hostname/i, ({ host }) => newReason("ssh_unresolved", { host })],
  [/Connection refused/i, ({ host }) => newReason("ssh_refused", { host })],
  [
    /Connection timed out|Operation timed out|No route to host|Network is unreachable/i,
    ({ host }) => newReason("ssh_unreachable", { host }),
  ],
];

/** Explains why git could not fetch over ssh; null for an unknown cause. */
export function sshFault(
  output: string,
  { url, credential }: { url: string; credential: { type: string } | null },
  program: SshAddress["program"],
): Reason | null {
  const address = sshAddressOf(url);
  const hasKey = credential?.type === "ssh";
  if (address === null) return null;
  if (!hasKey && /Permission denied \(/i.test(output))
    return newReason("ssh_key_missing", { host: address.host });
  return meanings.find(([said]) => said.test(output))?.[1]({ ...address, program }) ?? null;
}

/** Of `ssh://…` and of `user@host:path`; null for any other address. */
function sshAddressOf(url: string): Omit<SshAddress, "program"> | null {
  if (/^ssh:\/\//i.test(url)) {
    const { host, username } = new URL(url);
    return { host, user: username };
  }
  if (url.includes("://") || url.startsWith("/")) return null;
  const [, user = "", host] = /^(?:([^@/:]+)@)?([^@/:]+):/.exec(url) ?? [];
  return host === undefined ? null : { host, user };
}
