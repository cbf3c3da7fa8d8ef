import { hostAndPort, type ListenAddress } from "../listen-address.ts";
import { decodeKey, keyBytes } from "../secrets.ts";

/** A value from the file, the environment or a flag; or what is wrong with it, or with an entry of it, as a sentence that continues its name. */
export type Reading<T> = { value: T } | { wrong: string; entry?: unknown };

/** A kind of value that a setting can have. */
export interface Kind<T> {
  /** How the kind is named in docs/configuration.md. */
  name: string;
  read(raw: unknown): Reading<T>;
  /** Writes a value as `read` accepts it; absent: the value itself. */
  write?(value: T): unknown;
}

export interface Setting<T> {
  kind: Kind<T>;
  /** As written in the file; undefined: unset by default. */
  default: unknown;
  meaning: string;
  secret: boolean;
}

function ok<T>(value: T): Reading<T> {
  return { value };
}

function wrong(message: string): { wrong: string } {
  return { wrong: message };
}

/** A text or number as it was written; empty for a list or an object, whose own `toString` may throw. */
function writtenText(raw: unknown): string {
  return typeof raw === "string" || typeof raw === "number" ? String(raw).trim() : "";
}

export const text: Kind<string> = {
  name: "text",
  read: (raw) =>
    typeof raw === "string"
      ? ok(raw)
      : typeof raw === "number"
        ? ok(String(raw))
        : wrong("must be text; put it in quotes"),
};

/** A key that admits callers. An empty one would admit callers that send an empty header. */
export const accessKey: Kind<string> = {
  name: "text",
  read(raw) {
    const reading = text.read(raw);
    return "value" in reading && reading.value.trim() === ""
      ? wrong("must not be empty; remove the entry or give it a value")
      : reading;
  },
};

export const boolean: Kind<boolean> = {
  name: "true or false",
  read(raw) {
    if (raw === true || raw === "true") return ok(true);
    if (raw === false || raw === "false") return ok(false);
    return wrong("must be true or false");
  },
};

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): Kind<number> {
  const range = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} to ${max}`;
  return {
    name: `whole number, ${range}`,
    read(raw) {
      const number = numberOf(raw);
      if (!Number.isInteger(number) || number < min || number > max)
        return wrong(`must be a whole number, ${range}`);
      return ok(number);
    },
  };
}

function numberOf(raw: unknown): number {
  if (typeof raw === "number") return raw;
  return typeof raw === "string" && raw.trim() !== "" ? Number(raw) : Number.NaN;
}

/** A number from 1, or `auto` for the number of cores. */
export const countOrAuto: Kind<number | "auto"> = {
  name: "whole number from 1 to 512, or `auto`",
  read(raw) {
    if (writtenText(raw) === "auto") return ok("auto");
    const reading = integer(1, 512).read(raw);
    return "value" in reading ? reading : wrong("must be a whole number from 1 to 512, or auto");
  },
};

export function decimal(min: number, max: number): Kind<number> {
  return {
    name: `number, ${min} to ${max}`,
    read(raw) {
      const number = numberOf(raw);
      return number >= min && number <= max ? ok(number) : wrong(`must be a number, ${min} to ${max}`);
    },
  };
}

/** A hundred years, so that the oldest day to keep is a valid date. */
const maxDays = 36_500;

/** Days, also fractions: 0.5 is twelve hours. */
export function days(min: number): Kind<number> {
  const range = `${min} to ${maxDays}`;
  return {
    name: `days, ${range}`,
    read(raw) {
      const number = numberOf(raw);
      if (number >= min && number <= maxDays) return ok(number);
      return wrong(`must be a number of days, ${range}; 0.5 is twelve hours`);
    },
  };
}

const durationUnitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Read into milliseconds; a bare number is seconds. */
export const duration: Kind<number> = {
  name: "duration",
  read(raw) {
    const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/.exec(writtenText(raw));
    if (!match)
      return wrong('must be a duration such as 30, "500ms", "60s", "10m" or "1h" (a bare number is seconds)');
    return ok(Math.round(Number(match[1]) * (durationUnitMs[match[2] ?? "s"] ?? 1000)));
  },
  write: (ms) => (ms === 0 ? "0s" : inLargestUnit(ms, durationUnitMs, "")),
};

/** For settings that 0 would disable or apply always. */
export const positiveDuration: Kind<number> = positive(duration, '"1s"');

export function durationFrom(minMs: number, maxMs: number): Kind<number> {
  const range = [minMs, maxMs].map((ms) => inLargestUnit(ms, durationUnitMs, "")).join(" to ");
  return {
    ...duration,
    name: `duration, ${range}`,
    read(raw) {
      const reading = duration.read(raw);
      if ("wrong" in reading || (reading.value >= minMs && reading.value <= maxMs)) return reading;
      return wrong(`must be a duration, ${range}`);
    },
  };
}

const byteUnits: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

export const bytes: Kind<number> = {
  name: "bytes",
  read(raw) {
    const match = /^(\d+)\s*(B|KiB|MiB|GiB)?$/.exec(writtenText(raw));
    if (!match) return wrong('must be a number of bytes such as 65536, "64 KiB" or "1 MiB"');
    return ok(Number(match[1]) * (byteUnits[match[2] ?? "B"] ?? 1));
  },
  write: (count) => (count === 0 || count % 1024 ? count : inLargestUnit(count, byteUnits, " ")),
};

export const positiveBytes: Kind<number> = positive(bytes, '"64 KiB"');

function positive(kind: Kind<number>, example: string): Kind<number> {
  return {
    ...kind,
    name: `${kind.name}, more than 0`,
    read(raw) {
      const reading = kind.read(raw);
      return "value" in reading && reading.value === 0
        ? wrong(`must be more than 0, such as ${example}`)
        : reading;
    },
  };
}

/** In the largest unit without a fraction. `units` are ordered from small to large. */
function inLargestUnit(value: number, units: Record<string, number>, space: string): string {
  const found = Object.entries(units).findLast(([, size]) => value % size === 0);
  return found ? `${value / found[1]}${space}${found[0]}` : String(value);
}

/** Read into events per second. */
export const perSecond: Kind<number> = {
  name: "rate per second",
  read(raw) {
    const match = /^(\d+)\s*(?:\/\s*s)?$/.exec(writtenText(raw));
    if (!match) return wrong('must be a rate such as 50 or "50/s"');
    return ok(Number(match[1]));
  },
  write: (rate) => `${rate}/s`,
};

/** A name that brokers accept for queues and topics without quoting. */
export const queueName: Kind<string> = {
  name: "1 to 64 letters, digits, `.`, `_` or `-`",
  read: (raw) =>
    /^[A-Za-z0-9._-]{1,64}$/.test(writtenText(raw))
      ? ok(writtenText(raw))
      : wrong("must be 1 to 64 letters, digits, dots, underscores or hyphens"),
};

/** A key of 32 bytes as text. */
export const encryptionKey: Kind<string> = {
  name: `${keyBytes} bytes, base64 or hex`,
  read: (raw) =>
    typeof raw === "string" && decodeKey(raw) !== null
      ? ok(raw)
      : wrong(
          `must be ${keyBytes} bytes in base64 or hex, as \`openssl rand -base64 ${keyBytes}\` prints them`,
        ),
};

export function oneOf<const T extends string>(...values: T[]): Kind<T> {
  return {
    name: values.map((value) => `\`${value}\``).join(" or "),
    read(raw) {
      const found = values.find((value) => value === raw);
      return found ? ok(found) : wrong(`must be one of ${values.join(", ")}`);
    },
  };
}

/** A YAML list, or comma-separated text as the environment and flags give it. */
export function listOf<T>(kind: Kind<T>): Kind<T[]> {
  return {
    name: `list of ${kind.name}`,
    read(raw) {
      const parts = Array.isArray(raw)
        ? raw
        : typeof raw === "string"
          ? raw
              .split(",")
              .map((part) => part.trim())
              .filter((part) => part !== "")
          : [raw];
      const values: T[] = [];
      for (const part of parts) {
        const reading = kind.read(part);
        if ("wrong" in reading) return { ...reading, entry: part };
        values.push(reading.value);
      }
      return ok(values);
    },
    write: (values) => values.map((value) => kind.write?.(value) ?? value),
  };
}

export function url(...schemes: string[]): Kind<string> {
  return {
    name: `URL (${schemes.join(", ")})`,
    read(raw) {
      const expected = `must be a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(" or ")}`;
      if (typeof raw !== "string") return wrong(expected);
      // A list of brokers (kafka://a:9092,b:9092) is not a URL to the parser; its first host is.
      const first = raw.replace(/^((?:kafka|amqp)s?:\/\/[^,/]*)(?:,[^/]*)?/, "$1");
      const parsed = URL.canParse(first.replaceAll(/[{}]/g, "_"))
        ? new URL(first.replaceAll(/[{}]/g, "_"))
        : null;
      if (!parsed || !schemes.includes(parsed.protocol.slice(0, -1)) || !parsed.hostname)
        return wrong(expected);
      if (!isDecodable(parsed.username) || !isDecodable(parsed.password))
        return wrong("has a % in its user or password that encodes nothing; write % itself as %25");
      return ok(raw);
    },
  };
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** An origin as browsers send it, or all hosts below a name. */
export const originPattern: Kind<string> = {
  name: "origin",
  read: (raw) =>
    typeof raw === "string" && (raw === "*" || raw === "null" || isOrigin(raw.replace("://*.", "://any.")))
      ? ok(raw)
      : wrong('must be "*", an origin such as "https://app.example.com", or "https://*.example.com"'),
};

/** Scheme, host and port of a web server. */
export const webOrigin: Kind<string> = {
  name: "origin",
  read(raw) {
    const isWeb = typeof raw === "string" && /^https?:\/\/[^/?#@*\s]+\/?$/i.test(raw) && URL.canParse(raw);
    return isWeb
      ? ok(new URL(raw).origin)
      : wrong('must be an origin such as "http://git.corp.lan:3000", without a path, a user or a pattern');
  },
};

/** By a pattern, because the URL parser knows no origin of the custom schemes of desktop programs. */
function isOrigin(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#*\s]+$/i.test(text) && URL.canParse(text);
}

export const listen: Kind<ListenAddress> = {
  name: "host:port",
  read(raw) {
    const match = /^(?:(\[[0-9a-fA-F:]+\]|[^:\s]+):)?(\d{1,5})$/.exec(writtenText(raw));
    const port = Number(match?.[2]);
    if (!match || port > 65535) return wrong('must be host:port such as "127.0.0.1:8080" or "[::]:8080"');
    return ok({ host: (match[1] ?? "127.0.0.1").replaceAll(/[[\]]/g, ""), port });
  },
  write: ({ host, port }) => hostAndPort(host, port),
};

/** A host name as in a Host header, without the port. */
export const hostName: Kind<string> = {
  name: "host name",
  read: (raw) =>
    typeof raw === "string" && /^(?=.{1,253}$)[\w-]+(\.[\w-]+)*$/.test(raw)
      ? ok(raw.toLowerCase())
      : wrong('must be a host name such as "slipway.internal", without scheme and port'),
};

export const baseUrl: Kind<string> = {
  name: "URL (http, https) without a trailing /",
  read(raw) {
    const reading = url("http", "https").read(raw);
    if ("wrong" in reading) return reading;
    return reading.value.endsWith("/") ? wrong("must not end with a /; remove it") : reading;
  },
};

export const cidr: Kind<string> = {
  name: "network (CIDR)",
  read(raw) {
    const match = typeof raw === "string" ? /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(raw.trim()) : null;
    const isV6 = match?.[1]?.includes(":") ?? false;
    const bits = match?.[2] === undefined ? (isV6 ? 128 : 32) : Number(match[2]);
    if (!match?.[1] || !isAddress(match[1], isV6) || bits > (isV6 ? 128 : 32))
      return wrong('must be a network such as "10.0.0.0/8" or "fd00::/8"');
    return ok(`${match[1]}/${bits}`);
  },
};

function isAddress(value: string, isV6: boolean): boolean {
  if (isV6) return URL.canParse(`http://[${value}]/`);
  const parts = value.split(".");
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}
