import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const scenarios = resolve(import.meta.dir, "../scenarios");

/** The test of a row: a scenario, or the title of a test in this folder. */
type Proof = string | { file: string; title: string };

const inConcurrency = (title: string): Proof => ({ file: "concurrency.test.ts", title });
const inFailures = (title: string): Proof => ({ file: "failures.test.ts", title });

const tables: Record<string, Record<string, Proof>> = {
  configuration: {
    enabled: "config-enabled",
    provider: "config-defaults",
    secret: "config-secret",
    secretHeader: "verify-generic-custom-place",
    secretQuery: "verify-generic-blank-place",
    verifyMode: "verify-generic-hmac-hex",
    signaturePrefix: "verify-generic-hmac-hex",
    signatureEncoding: "verify-generic-hmac-base64",
    events: "config-events-empty",
    branchFilter: "outcome-filter-step-2-branch",
    tagFilter: "outcome-filter-step-2-tag",
    pathFilter: "outcome-filter-step-3",
    refSource: "config-ref-source-project",
    actions: "config-actions",
    queuePolicy: "config-queue-policy",
    debounceSeconds: "config-debounce-off",
    skipCiKeyword: "config-skip-keyword-empty",
  },
  response: {
    accepted: "response-dispatched",
    queued: "response-queued",
    ignored: "response-ignored",
    merged: "response-merged",
    rejected: "response-rejected",
  },
  outcome: {
    "hookKey matches no project": "outcome-endpoint-missing",
    "not enabled": "outcome-not-enabled",
    "verification fails": "outcome-signature-fails",
    "body too large": "outcome-body-too-large",
    "rate above the limit": "outcome-rate",
    "lock wait timed out": inConcurrency("a stalled holder of the project's lock: 429 after about 5 s"),
    "step 1": "outcome-filter-step-1",
    "step 2": "outcome-filter-step-2-branch",
    "step 3": "outcome-filter-step-3",
    "step 4": "outcome-filter-step-4",
    "step 5": "outcome-filter-step-5",
    "step 6": "outcome-filter-step-6",
    "all steps pass": "outcome-all-pass",
    "internal exception": inFailures("that prevents the task is answered 500"),
    "the order of them all": "outcome-order",
    "test, dry run and replay": "outcome-ways-in",
  },
  verification: {
    hosta: "verify-hosta",
    hostb: "verify-hostb",
    hostc: "verify-hostc",
    hostd: "verify-hostd",
    "generic token": "verify-generic-token",
    "generic hmac": "verify-generic-hmac-hex",
    "blank place": "verify-generic-blank-place",
    "empty secret": "verify-nothing",
    "raw body": "verify-raw-body",
  },
  events: {
    hosta: "event-hosta",
    hostb: "event-hostb",
    hostc: "event-hostc",
    hostd: "event-hostd",
    generic: "event-generic",
  },
  limits: {
    maxBodyKB: "limit-max-body",
    limitPerMinute: "limit-per-minute",
    debounceSeconds: "limit-debounce-default",
    deliveryRetentionDays: inFailures("deletes what is older than deliveryRetentionDays"),
    "project lock wait": inConcurrency("a stalled holder of the project's lock: 429 after about 5 s"),
    "stored body": "limit-stored-body",
    commit_message: "limit-commit-message",
  },
  globs: {
    "*": "glob-star",
    "**": "glob-double-star",
    "**/": "glob-levels",
    "?": "glob-question",
    "raw form of a branch": "glob-raw-ref",
    "raw form of a tag": "glob-raw-tag",
  },
};

describe("every row of the specification's tables has a test", () => {
  for (const [table, rows] of Object.entries(tables))
    test.each(Object.entries(rows))(`${table}: %s`, (_row, proof) => {
      if (typeof proof === "string") return expect(existsSync(join(scenarios, `${proof}.json`))).toBe(true);
      expect(readFileSync(join(import.meta.dir, proof.file), "utf8")).toContain(proof.title);
    });
});

/** A delivery without an expectation tests nothing. */
test("every scenario checks the response of each delivery", () => {
  for (const file of readdirSync(scenarios)) {
    const { steps } = JSON.parse(readFileSync(join(scenarios, file), "utf8")) as { steps: object[] };
    const unseen = steps.filter((step) => "deliver" in step && !("expect" in step));
    expect([file, unseen]).toEqual([file, []]);
  }
});
