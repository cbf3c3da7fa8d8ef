import { steadyClock } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import { ConfigError } from "../../config/config-load.ts";
import type { Logger } from "../../logger.ts";
import { consoleUserPrefix } from "../../model/console/console-names.ts";
import { oncePerSecond } from "../../once-per-second.ts";
import type { CodeVerifierParts, OwnCodes } from "../../push/admission/verification-order.ts";
import type { ForeignCodeRules } from "../../push/admission/verified-code.ts";
import { verifyByUri } from "../../push/admission/verify-uri.ts";
import type { AppContext } from "../app-context.ts";
import { acceptsJwt, type JwtCodes, jwtCodes } from "./jwt-codes.ts";

export type CodeSources = Pick<CodeVerifierParts, "own" | "jwt" | "remote">;

const verifyTimeoutMs = 3000;

/** Everything that verifies codes. `own` is null without a deploy service in this process. */
export async function codeSources(
  { config, clock, log }: Pick<AppContext, "config" | "clock" | "log">,
  own: OwnCodes | null,
): Promise<{ codes: CodeSources; replaceKeys: JwtCodes["replaceKeys"] }> {
  const uri = config["push.verify-uri"];
  const jwt = await jwtCodes(config, foreignCodeRules("a JWT", config, log), clock, log);
  return {
    codes: {
      own,
      jwt: jwt?.verify ?? null,
      remote: uri === undefined ? null : remoteCodes(uri, config, log),
    },
    replaceKeys: async (keys) => jwt?.replaceKeys(keys),
  };
}

/** For operators. */
export function namesOf({ own, jwt, remote }: CodeSources): string {
  const names = [own && !remote && "Slipway", jwt && "push.jwt", remote && "verify-uri"];
  return names.filter((name) => typeof name === "string").join(", ");
}

/** Thrown before anything is started. */
export function checkCodeSources(config: Config): void {
  if (config["push.verify-uri"] || acceptsJwt(config)) return;
  throw new ConfigError([
    {
      key: "push.verify-uri",
      source: "settings",
      message: "must be set if `slipway push` runs alone without push.jwt: nothing else can verify a code",
    },
  ]);
}

/** Logs only the number of failures and the last reason, never an address or a code. */
function remoteCodes(uri: string, config: Config, log: Logger) {
  let reason = "";
  const complain = oncePerSecond(steadyClock, (failed) =>
    log.warn({ failed, reason }, "verify-uri could not be used; the connections were refused with 503"),
  );
  return verifyByUri({
    ...foreignCodeRules("verify-uri", config, log),
    uri,
    method: config["push.verify-method"],
    timeoutMs: verifyTimeoutMs,
    fetch,
    onUnusable(why) {
      reason = why;
      complain();
    },
  });
}

function foreignCodeRules(source: string, config: Config, log: Logger): ForeignCodeRules {
  return {
    reservesConsoleNames: config["push.reserve-console-names"],
    onReservedUser: oncePerSecond(steadyClock, (refused) =>
      log.warn(
        { refused },
        `${source} named users that start with ${consoleUserPrefix}, which are reserved for the console; the connections were refused with 401`,
      ),
    ),
    refusesUnaskedTemporary: config["push.unasked-temporary"] === "refuse",
    onUnaskedTemporary: oncePerSecond(steadyClock, (refused) =>
      log.warn(
        { refused },
        `${source} said temporary: true for clients that did not send temp=1; the connections were refused with 401 (push.unasked-temporary)`,
      ),
    ),
  };
}
