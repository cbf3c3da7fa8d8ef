import { environmentName, flagName, settingKeys, settings } from "./config.ts";

/** docs/configuration.md, generated from the table of settings. */
export function configurationPage(): string {
  const sections = new Map<string, string[]>();
  for (const key of settingKeys) {
    const [section = ""] = key.split(".");
    const { kind, meaning, secret, default: fallback } = settings[key];
    const shown =
      fallback === undefined
        ? "unset"
        : `\`${typeof fallback === "string" ? fallback : JSON.stringify(fallback)}\``;
    const row = `| \`${key}\` | ${kind.name} | ${shown} | ${meaning}${secret ? " *Secret.*" : ""} |`;
    sections.set(section, [...(sections.get(section) ?? []), row]);
  }
  const tables = [...sections].map(
    ([section, rows]) =>
      `## ${section}\n\n| key | kind | default | meaning |\n|---|---|---|---|\n${rows.join("\n")}\n`,
  );
  return `# Configuration

This page is made by \`slipway config docs\` from the table in \`src/config/config.ts\`.

Settings come from \`slipway.yaml\` (\`--config\`, \`SLIPWAY_CONFIG\`), then from the environment, then from flags; the later
one wins. \`push.verify-uri\` is \`${environmentName("push.verify-uri")}\` in the environment and \`--${flagName("push.verify-uri")}\`
as a flag; lists are comma-separated there. In the file, keys may be nested or dotted:

\`\`\`yaml
server:
  listen: "0.0.0.0:8080"
  baseUrl: https://deploy.example.com
push:
  verify-uri: https://app.example.com/push/verify
  pong-timeout: 60s
\`\`\`

A bare number as a duration is seconds; \`500ms\`, \`60s\`, \`10m\`, \`1h\` are accepted, and \`64 KiB\`, \`1 MiB\` as sizes.
SIGHUP lets a running gateway read push.api-keys, push.jwt.secrets and push.jwt.key-file again
([operations](operations.md#secrets)); every other change needs a restart. \`slipway\` is \`bin/slipway\` in a clone.
\`slipway config check\` reports every mistake at once and exits with 2; \`slipway config print\` shows what is in force, as a
file that can be loaded again, with secrets masked. A mask is refused as a secret: write the secret in its place, or give it
by the environment.

Variables that are no settings: \`SLIPWAY_CONFIG\` (settings file), \`SLIPWAY_ADMIN_PASSWORD\` (password of \`admin\` at the first
start), \`SLIPWAY_URL\`, \`SLIPWAY_TOKEN\` and \`SLIPWAY_API_KEY\` (for commands that talk to a server), \`PORT\`.

${tables.join("\n")}`;
}
