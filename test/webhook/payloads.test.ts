import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import examples from "../../node_modules/@octokit/webhooks-examples/api.github.com/index.json";
import { gitHosts, providerNames } from "../../src/git-host/hosts.ts";
import { readEvent } from "../../src/git-host/read-event.ts";
import type { JsonObject } from "../../src/json.ts";
import type { NormalizedEvent } from "../../src/model/delivery.ts";
import { renderReason } from "../../src/reason/reason.ts";
import { payloadSamples } from "../support/host-fixtures.ts";

/** With the English text in place of each reason. */
function withTexts(event: object): unknown {
  return JSON.parse(JSON.stringify(event), (_, value) =>
    value?.code !== undefined && value.values !== undefined ? renderReason(value) : value,
  );
}

describe("a payload is normalised as expected", () => {
  for (const { title, provider, headers, payload, expected } of payloadSamples)
    test(`${provider}: ${title}`, () => {
      const { rawEvent: _rawEvent, ...event } = readEvent(gitHosts[provider], new Headers(headers), payload);
      expect(withTexts(event)).toEqual(expected);
    });
});

test("every host that has a name has a guide", () => {
  const named = providerNames.filter((name) => !/^host[a-d]$/.test(name));
  const guides = readdirSync(resolve(import.meta.dir, "../../docs/hosts"));
  expect(guides.sort()).toEqual([...named.map((name) => `${name}.md`), "README.md"].sort());
});

test("a push with the maximum number of commits that GitHub lists may have more", () => {
  const commits = Array.from({ length: 2048 }, () => ({ added: [], modified: ["a"], removed: [] }));
  const read = (sent: object[]) =>
    readEvent(gitHosts.github, new Headers({ "X-GitHub-Event": "push" }), {
      ref: "refs/heads/main",
      commits: sent,
    });
  expect(read(commits)).toMatchObject({
    paths: null,
    pathsUnknownBecause: { code: "paths_limited", values: { number: "2048" } },
  });
  expect(read(commits.slice(1)).paths).toEqual(["a"]);
});

test("more than 10,000 changed files are not filtered", () => {
  const files = Array.from({ length: 10_001 }, (_, index) => `f${index}`);
  const unknown = { paths: null, pathsUnknownBecause: { values: { number: "10000" } } };
  const listed = (paths: string[]) => readEvent(gitHosts.generic, new Headers(), { ref: "main", paths });
  expect(listed(files)).toMatchObject(unknown);
  expect(listed(files.slice(1)).paths).toHaveLength(10_000);
  const pushed = (added: string[]) =>
    readEvent(gitHosts.github, new Headers(), { ref: "refs/heads/main", commits: [{ added }] });
  expect(pushed(files)).toMatchObject(unknown);
  expect(pushed(files.slice(1)).paths).toHaveLength(10_000);
});

/** A readable line. */
function lineOf(name: string, event: NormalizedEvent): string {
  const what = event.skip ? event.skip.code : `${event.event} ${event.rawRef} at ${event.commit}`;
  const paths = event.paths ? `${event.paths.length} paths` : renderReason(event.pathsUnknownBecause ?? "");
  const fork = event.mergeRequest?.fromFork ? "from a fork" : "";
  return [name, what, `by ${event.author || "nobody"}`, paths, fork]
    .filter((part) => part !== "")
    .join(" · ");
}

test("every example payload of GitHub is read as its golden line", async () => {
  const lines = examples.flatMap(({ name, examples: bodies }) =>
    (bodies as JsonObject[]).map((payload, index) => {
      const event = readEvent(gitHosts.github, new Headers({ "x-github-event": name }), payload);
      return lineOf(`${name} ${index} ${String(payload.action ?? "")}`.trimEnd(), event);
    }),
  );
  const golden = Bun.file(resolve(import.meta.dir, "golden/github-examples.txt"));
  if (process.env.UPDATE_GOLDEN) await Bun.write(golden, `${lines.join("\n")}\n`);
  expect(lines).toEqual((await golden.text()).trimEnd().split("\n"));
});
