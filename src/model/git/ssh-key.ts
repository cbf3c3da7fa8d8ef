import { newReason, type Reason } from "../../reason/reason.ts";

const pem = /^-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----\s+([\s\S]+?)-----END \1PRIVATE KEY-----$/;
const openSshMagic = "openssh-key-v1\0";

/**
 * What is wrong with a private key for SSH, as a sentence that continues "privateKey …"; null if it may be used. A runner
 * cannot ask for a passphrase, and a truncated key would fail only in the first task.
 */
export function sshKeyFault(privateKey: string): Reason | null {
  const [, kind = "", content = ""] = pem.exec(privateKey.trim()) ?? [];
  if (content === "") return newReason("key_form");
  const cipher = kind === "OPENSSH " ? openSshCipher(content) : pemCipher(kind + content);
  if (cipher === null) return newReason("key_damaged");
  if (cipher !== "none") return newReason("key_passphrase");
  return null;
}

function pemCipher(text: string): "some" | "none" {
  return text.includes("ENCRYPTED") ? "some" : "none";
}

/** The cipher of an OpenSSH key, `none` without a passphrase; null if the key is incomplete. */
function openSshCipher(content: string): string | null {
  const bytes = Buffer.from(content, "base64");
  if (bytes.toString("latin1", 0, openSshMagic.length) !== openSshMagic) return null;
  let at = openSshMagic.length;
  /** Reads the next length-prefixed value. */
  const next = (): Buffer | null => {
    if (at + 4 > bytes.length) return null;
    const end = at + 4 + bytes.readUInt32BE(at);
    const text = end > bytes.length ? null : bytes.subarray(at + 4, end);
    at = end;
    return text;
  };
  const cipher = next();
  const derivation = [next(), next()];
  at += 4; // The number of keys: always one.
  const keys = [next(), next()];
  const isWhole = [...derivation, ...keys].every((part) => part !== null);
  return isWhole ? (cipher?.toString("latin1") ?? null) : null;
}
