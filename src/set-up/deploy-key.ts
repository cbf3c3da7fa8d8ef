import { generateKeyPairSync, randomBytes } from "node:crypto";

export interface DeployKey {
  /** `ssh-ed25519 AAAA… comment`. */
  publicKey: string;
  /** In OpenSSH's own format, without a passphrase. */
  privateKey: string;
}

const keyType = "ssh-ed25519";
const blockSize = 8;
const lineLength = 70;

/** A new ed25519 key pair. Node writes PKCS #8, which older versions of ssh do not read for this kind of key. */
export function newDeployKey(comment: string): DeployKey {
  const { privateKey } = generateKeyPairSync("ed25519");
  const { d = "", x = "" } = privateKey.export({ format: "jwk" });
  const [seed, point] = [Buffer.from(d, "base64url"), Buffer.from(x, "base64url")];
  const publicBlob = Buffer.concat([text(keyType), text(point)]);
  const check = randomBytes(4);
  const content = Buffer.concat([
    ...[check, check, text(keyType), text(point), text(Buffer.concat([seed, point])), text(comment)],
  ]);
  const padding = Buffer.from(
    Array.from({ length: (blockSize - (content.length % blockSize)) % blockSize }, (_, at) => at + 1),
  );
  const file = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    ...[text("none"), text("none"), text(""), number(1), text(publicBlob)],
    text(Buffer.concat([content, padding])),
  ]);
  const lines = file.toString("base64").match(new RegExp(`.{1,${lineLength}}`, "g")) ?? [];
  return {
    publicKey: `${keyType} ${publicBlob.toString("base64")} ${comment}`,
    privateKey: [
      "-----BEGIN OPENSSH PRIVATE KEY-----",
      ...lines,
      "-----END OPENSSH PRIVATE KEY-----",
      "",
    ].join("\n"),
  };
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Length-prefixed. */
function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
}
