import { secret, setting } from "./declare-setting.ts";
import { type Kind, listOf, text, url } from "./setting-kinds.ts";

const minSecretBytes = 32;

/** RFC 7518 requires a key of at least the size of the hash. */
const jwtSecret: Kind<string> = {
  name: `text of at least ${minSecretBytes} bytes`,
  read: (raw) =>
    typeof raw === "string" && Buffer.byteLength(raw) >= minSecretBytes
      ? { value: raw }
      : {
          wrong: `must be text of at least ${minSecretBytes} bytes, as \`openssl rand -base64 32\` prints it`,
        },
};

/** Codes that are JSON Web Tokens. */
export const jwtSettings = {
  "push.jwt.secrets": secret(
    listOf(jwtSecret),
    [],
    "Secrets of codes that are JWTs signed with HS256; several for rotation. With one of `secrets`, `key-file` and `jwks-url`, codes of the form of a JWT are verified here and nowhere else. SIGHUP reads the list again.",
  ),
  "push.jwt.key-file": setting(
    text,
    undefined,
    "File with the public keys of codes that are JWTs signed with RS256, ES256 or EdDSA: PEM, also several, or a JSON Web Key Set. Read at start and on SIGHUP.",
  ),
  "push.jwt.jwks-url": setting(
    url("http", "https"),
    undefined,
    "Address of a JSON Web Key Set with such public keys. Read again every five minutes, and when no known key has signed a token.",
  ),
  "push.jwt.issuer": setting(text, undefined, "Required `iss` of these tokens. Unset: any."),
  "push.jwt.audience": setting(text, undefined, "Required `aud` of these tokens. Unset: any."),
};
