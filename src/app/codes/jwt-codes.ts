import { readFile } from "node:fs/promises";
import type { JSONWebKeySet } from "jose";
import { type Clock, steadyClock } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import { ConfigError, type ConfigFault } from "../../config/config-load.ts";
import type { GatewayKeys } from "../../config/gateway-keys.ts";
import { messageOf } from "../../errors.ts";
import { isObject, parseJson } from "../../json.ts";
import type { Logger } from "../../logger.ts";
import { oncePerSecond } from "../../once-per-second.ts";
import type { VerifyJwt } from "../../push/admission/jwt.ts";
import type { JwtKeys } from "../../push/admission/jwt-verifier.ts";
import type { ForeignCodeRules } from "../../push/admission/verified-code.ts";

/** Verifies codes that are JWTs, with keys that can be replaced. */
export interface JwtCodes {
  verify: VerifyJwt;
  /** Rejects, and keeps the earlier keys, if the key file cannot be used. */
  replaceKeys(keys: GatewayKeys): Promise<void>;
}

/** Whether codes may be JWTs. */
export function acceptsJwt(config: GatewayKeys & Pick<Config, "push.jwt.jwks-url">): boolean {
  const { "push.jwt.secrets": secrets, "push.jwt.key-file": file, "push.jwt.jwks-url": url } = config;
  return secrets.length > 0 || file !== undefined || url !== undefined;
}

/** Verifies JWTs as the settings say; null: they name no key. */
export async function jwtCodes(
  config: Config,
  rules: ForeignCodeRules,
  clock: Clock,
  log: Logger,
): Promise<JwtCodes | null> {
  if (!acceptsJwt(config)) return null;
  // Imported only if used: the package takes 15 ms of the start.
  const [{ buildJwtVerifier }, { fixedKeys, rotatingKeys }] = await Promise.all([
    import("../../push/admission/jwt-verifier.ts"),
    import("../../push/admission/key-set.ts"),
  ]);
  const url = config["push.jwt.jwks-url"];
  let reason = "";
  const complain = oncePerSecond(steadyClock, (failed) =>
    log.warn(
      { failed, reason },
      "push.jwt.jwks-url could not be read; tokens with new keys are refused with 503",
    ),
  );
  const onFault = (error: unknown) => {
    reason = messageOf(error);
    complain();
  };
  const read = async ({ "push.jwt.secrets": secrets, "push.jwt.key-file": file }: GatewayKeys) => ({
    secrets: secrets.map((secret) => Buffer.from(secret)),
    fileKeys: file === undefined ? null : fixedKeys(await keysOfFile(file)),
  });
  let keys: JwtKeys = await read(config);
  return {
    verify: buildJwtVerifier({
      ...rules,
      keys: () => keys,
      urlKeys:
        url === undefined ? null : rotatingKeys({ load: () => keysOfUrl(url), clock: steadyClock, onFault }),
      issuer: config["push.jwt.issuer"],
      audience: config["push.jwt.audience"],
      clock,
    }),
    async replaceKeys(next) {
      keys = await read(next);
    },
  };
}

/** A key file that cannot be used. */
export async function jwtFaults(config: Config): Promise<ConfigFault[]> {
  const file = config["push.jwt.key-file"];
  if (file === undefined) return [];
  return keysOfFile(file).then(
    () => [],
    (error: unknown) => (error instanceof ConfigError ? error.faults : Promise.reject(error)),
  );
}

async function keysOfFile(file: string): Promise<JSONWebKeySet> {
  try {
    const text = await readFile(file, "utf8");
    return text.trimStart().startsWith("{") ? keysOfJson(text) : await keysOfPem(text);
  } catch (error) {
    const message = `names ${file}, which holds no public keys that can be used: ${messageOf(error)}`;
    throw new ConfigError([{ key: "push.jwt.key-file", source: "settings", message }]);
  }
}

const pemBlock = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----/g;
const minRsaBits = 2048;

async function keysOfPem(text: string): Promise<JSONWebKeySet> {
  const { createPublicKey } = await import("node:crypto");
  const blocks = [...text.matchAll(pemBlock)].map(([block, kind]) => ({ block, kind }));
  if (blocks.length === 0) throw new Error("it has no PEM block");
  return checked(
    blocks.map(({ block, kind = "" }) => {
      if (kind.includes("PRIVATE")) throw new Error("it has a private key; only the public one belongs here");
      return createPublicKey(block).export({ format: "jwk" });
    }),
  );
}

/** A key set, or one key. */
function keysOfJson(text: string): JSONWebKeySet {
  const value = parseJson(text);
  if (!isObject(value)) throw new Error("it is not JSON");
  return checked(Array.isArray(value.keys) ? value.keys : [value]);
}

/** Leaves out keys for other algorithms, which a key set may contain. Throws if none is left. */
function checked(keys: unknown[]): JSONWebKeySet {
  const usable = keys.filter(isObject).filter(isUsable);
  if (usable.length === 0) throw new Error("no key is for RS256, ES256 or EdDSA");
  return { keys: usable as unknown as JSONWebKeySet["keys"] };
}

function isUsable({ kty, crv, n }: Record<string, unknown>): boolean {
  if (kty === "EC") return crv === "P-256";
  if (kty === "OKP") return crv === "Ed25519";
  return kty === "RSA" && typeof n === "string" && Buffer.from(n, "base64url").length * 8 >= minRsaBits;
}

const timeoutMs = 5_000;
const maxBytes = 256 * 1024;

async function keysOfUrl(url: string): Promise<JSONWebKeySet> {
  const response = await fetch(url, {
    headers: { accept: "application/json" },
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!response.ok) throw new Error(`it answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`it is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return keysOfJson(Buffer.concat(chunks).toString("utf8"));
}
