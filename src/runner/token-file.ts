import { closeSync, existsSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Fault, messageOf } from "../errors.ts";

/** Name of the token among the credentials that systemd hands to a service. */
const credentialName = "runner-token";
const tokenMaxBytes = 1024;
const groupOrOthers = 0o077;

export interface TokenFile {
  token: string;
  /** Others than the owner may read the file. */
  isOpenToOthers: boolean;
}

/** The token in a file that is read once; of an open file (/dev/stdin, /dev/fd/3) nothing is left for scripts to read. */
export function readTokenFile(path: string): TokenFile {
  const inherited = path === "/dev/stdin" ? "0" : /^\/dev\/fd\/(\d+)$/.exec(path)?.[1];
  try {
    const file = inherited === undefined ? openSync(path, "r") : Number(inherited);
    const status = fstatSync(file);
    const text = readFileSync(file, "utf8");
    // Standard input stays: the number 0 would be given to the next file that is opened.
    if (file !== 0) closeSync(file);
    const token = text.trim();
    if (token === "" || token.length > tokenMaxBytes || /\s/.test(token))
      throw new Error("it must hold the token and nothing else");
    return { token, isOpenToOthers: status.isFile() && (status.mode & groupOrOthers) !== 0 };
  } catch (error) {
    throw new Fault("invalid", `The runner's token could not be read from ${path}: ${messageOf(error)}.`);
  }
}

/** Where systemd has put the token of this service (LoadCredential=runner-token:…), if it has. */
export function credentialFile(directory: string | undefined): string | undefined {
  const path = directory ? join(directory, credentialName) : undefined;
  return path !== undefined && existsSync(path) ? path : undefined;
}
