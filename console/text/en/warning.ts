/** Warnings on every page. */
export const warning = {
  unreachable: "The server cannot be reached. Data of {time}.",
  unsignedLabel: "Webhooks without a secret",
  unsigned: {
    one: "A webhook has no secret: anyone who knows its address can start a build. Set a secret for {projects}.",
    other:
      "{count} webhooks have no secret: anyone who knows their addresses can start a build. Set a secret for {projects}.",
  },
  isolationLabel: "Scripts are not isolated",
  isolation:
    "{title} on {runners}: users who manage a project without being admins can read everything that the user of the runner can read. On the local runner this includes the keys and the database of this server. See {manual} and {link}.",
  isolationShort: "{title} on {runners}. {link}",
  meaning: "What this means",
  hide: "Hide this notice",
  manual: "the manual",
  runners: "Runners",
} as const;
