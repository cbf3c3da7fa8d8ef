import { describe, expect, test } from "bun:test";
import { isCommit, isSafeRef, toFullRef, toShortRef } from "../../src/model/git/git-ref.ts";

describe("refs and commits are checked before use", () => {
  const usable = [
    "main",
    "refs/heads/main",
    "refs/tags/v1.2.3",
    "dependabot/npm_and_yarn/@types/node-1",
    "feature/#12+x",
    "分支/一",
  ];
  test.each(usable)("%s is usable", (ref) => expect(isSafeRef(ref)).toBe(true));

  const unusable = [
    "",
    "-h",
    "refs/heads/-h",
    "--upload-pack=x",
    "a b",
    "a\nb",
    "a\u0000b",
    "$(id)",
    "`id`",
    "a;b",
    "a|b",
    "..",
    "a..b",
    "a.lock",
    "a/.b",
    "/a",
    "a/",
    "a//b",
    "@",
    "a@{1}",
    "a^",
    "a:b",
    "x".repeat(300),
  ];
  test.each(unusable)("%p is not", (ref) => expect(isSafeRef(ref)).toBe(false));

  test("a commit is a whole object name that exists", () => {
    expect(isCommit("a".repeat(40))).toBe(true);
    expect(isCommit("B".repeat(64))).toBe(true);
    for (const wrong of ["", "abc", "0".repeat(40), `${"a".repeat(39)}g`, `-${"a".repeat(39)}`])
      expect(isCommit(wrong)).toBe(false);
  });

  test("a short ref is a branch; a full one stays", () => {
    expect(toFullRef("main")).toBe("refs/heads/main");
    expect(toFullRef("refs/tags/v1")).toBe("refs/tags/v1");
    expect(toShortRef("refs/heads/a/b")).toBe("a/b");
  });
});
