import { compileGlob, type Glob } from "../../model/glob.ts";
import type { Project } from "../../model/project.ts";
import type { EventName, WebhookConfig } from "../../model/webhook-config.ts";

export interface Pattern {
  text: string;
  matches: Glob;
}

/** A configuration prepared for decisions: patterns compiled once. */
export interface Rules {
  events: readonly EventName[];
  branches: readonly Pattern[];
  tags: readonly Pattern[];
  paths: readonly Pattern[];
  skipKeywords: readonly string[];
  allowForks: boolean;
  environments: Project["environments"];
}

export function rulesOf(config: WebhookConfig, { environments }: Pick<Project, "environments">): Rules {
  return {
    events: config.events,
    branches: config.branchFilter.map(patternOf),
    tags: config.tagFilter.map(patternOf),
    // People write /docs/** as in .gitignore; hosts send paths without the slash.
    paths: config.pathFilter.map((text) => patternOf(text.replace(/^\//, ""))),
    skipKeywords: [config.skipCiKeyword, ...config.moreSkipKeywords],
    allowForks: config.allowForks,
    environments,
  };
}

function patternOf(text: string): Pattern {
  return { text, matches: compileGlob(text) };
}

export function textOf(patterns: readonly Pattern[]): string {
  return patterns.map(({ text }) => text).join(", ");
}
