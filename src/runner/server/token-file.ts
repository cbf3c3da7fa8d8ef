import { closeSync, existsSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Fault, messageOf } from "../../errors.ts";

/** Name of the token among the systemd credentials of the service. */
const credentialName = "runner-token";
const tokenMaxBytes = 1024;
const groupOrOthers = 0o077;

export interface TokenFile {
  token: string;
  /** Whether users other than the owner may read the file. */
  isOpenToOthers: boolean;
}

/** Reads the token once. An open file (/dev/stdin, /dev/fd/3) is closed, so that scripts cannot read it. */
export function readTokenFile(path: string): TokenFile {
  const inherited = path === "/dev/stdin" ? "0" : /^\/dev\/fd\/(\d+)$/.exec(path)?.[1];
  try {
    const file = inherited === undefined ? openSync(path, "r") : Number(inherited);
    const status = fstatSync(file);
    const text = readFileSync(file, "utf8");
    // Standard input stays open: otherwise the next opened file would get descriptor 0.
    if (file !== 0) closeSync(file);
    const token = text.trim();
    if (token === "" || token.length > tokenMaxBytes || /\s/.test(token))
      throw new Error("it must contain only the token");
    return { token, isOpenToOthers: status.isFile() && (status.mode & groupOrOthers) !== 0 };
  } catch (error) {
    throw new Fault("invalid", `The runner's token could not be read from ${path}: ${messageOf(error)}.`);
  }
}

/** The file with the token as a systemd credential (LoadCredential=runner-token:…), if there is one. */
export function credentialFile(directory: string | undefined): string | undefined {
  const path = directory ? join(directory, credentialName) : undefined;
  return path !== undefined && existsSync(path) ? path : undefined;
}
