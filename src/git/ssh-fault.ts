interface SshAddress {
  host: string;
  /** Empty where the address names none. */
  user: string;
  /** The program that runs git. */
  program: "runner" | "server";
}

/** What ssh says, in its own words, and what that means to the people of a project. */
const meanings: [said: RegExp, meaning: (address: SshAddress) => string][] = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed/i,
    ({ host, program }) =>
      `the SSH host key of ${host} is not the one that this ${program} knows: the host got a new one, or somebody stands in between; if it is the host's own, remove the old one from known_hosts on the ${program}'s machine (the log says how)`,
  ],
  [
    /incorrect passphrase/i,
    () => "the project's SSH key is protected by a passphrase; store one that has none",
  ],
  [
    /Load key .*(invalid format|error in libcrypto|unsupported)/i,
    () => "the project's SSH key cannot be read; store the whole private key, from BEGIN to END",
  ],
  [
    /Permission denied \(/i,
    ({ host, user }) =>
      user === ""
        ? `${host} does not let the project's SSH key in, and the address names no user; most hosts want git@${host}`
        : `${host} does not let the project's SSH key in as ${user}; add its public half there as a deploy key, or store the right one`,
  ],
  [/Could not resolve hostname/i, ({ host }) => `the name ${host} is not known`],
  [/Connection refused/i, ({ host }) => `${host} refused the SSH connection`],
  [
    /Connection timed out|Operation timed out|No route to host|Network is unreachable/i,
    ({ host }) => `${host} could not be reached`,
  ],
];

/** Why git could not fetch over ssh, for people; null where ssh gave no reason that we know. */
export function sshFault(
  output: string,
  { url, credential }: { url: string; credential: { type: string } | null },
  program: SshAddress["program"],
): string | null {
  const address = sshAddressOf(url);
  const hasKey = credential?.type === "ssh";
  if (address === null) return null;
  if (!hasKey && /Permission denied \(/i.test(output))
    return `${address.host} asks for an SSH key and the project has none; store one with PUT /api/projects/<id>/credential`;
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
