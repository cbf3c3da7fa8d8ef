import manifest from "../package.json" with { type: "json" };

/** Set in an executable file. */
declare const builtFrom: { commit: string; target: string } | undefined;

export const version: string = manifest.version;

/** The commit and the system that this executable was built for; null: the sources run. */
export const build = typeof builtFrom === "undefined" ? null : builtFrom;
