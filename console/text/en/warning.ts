/** Warnings of the frame. */
export const warning = {
  unreachable: "The server cannot be reached. Data of {time}.",
  isolationLabel: "Scripts are not isolated",
  isolation:
    "{title} on {runners}: users who manage a project without being admins can read everything that the user of the runner can read. On the local runner this includes the keys and the database of this server. See {manual} and {link}.",
  manual: "the manual",
  runners: "Runners",
} as const;
