import { Fault } from "../../errors.ts";

export type KafkaSasl = "none" | "plain" | "scram-sha-256" | "scram-sha-512";

const defaultPort = 9092;

/** Parses `kafka://user:password@host:9092,host:9092`; the URL parser does not accept a list of hosts. */
export function parseKafkaAddress(url: string, sasl: KafkaSasl) {
  const match = /^(kafkas?):\/\/(?:([^@/]*)@)?([^@/?#]+)\/?$/.exec(url);
  if (!match) {
    throw new Fault("invalid", "push.queue.url must look like kafka://host:9092,host:9092, without a path.");
  }
  const [, scheme, credentials, hosts = ""] = match;
  const colon = credentials?.indexOf(":") ?? -1;
  const username = colon < 0 ? credentials : credentials?.slice(0, colon);
  const password = colon < 0 ? undefined : credentials?.slice(colon + 1);
  if (sasl === "none" && username) {
    throw new Fault(
      "invalid",
      "push.queue.url names a user, but push.queue.sasl is none: set it to plain, scram-sha-256 or scram-sha-512.",
    );
  }
  if (sasl !== "none" && (!username || !password)) {
    throw new Fault("invalid", `push.queue.sasl is ${sasl}, but push.queue.url names no user and password.`);
  }
  return {
    /** Each as `host:port`. */
    brokers: hosts.split(",").map((host) => (/:\d+$/.test(host) ? host : `${host}:${defaultPort}`)),
    isTls: scheme === "kafkas",
    username: username ? decodeURIComponent(username) : undefined,
    password: password === undefined ? undefined : decodeURIComponent(password),
  };
}
