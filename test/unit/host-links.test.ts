import { expect, test } from "bun:test";
import { hostLinksOf } from "../../src/task/host-links.ts";
import { linkFixtures } from "../support/host-fixtures.ts";

const commit = "b".repeat(40);
const serving = "a".repeat(40);
const source = {
  event: "merge_request",
  announcedBy: "request",
  pusher: "ann",
  mergeRequest: "12",
  targetBranch: "main",
  fromFork: false,
} as const;
const task = { ref: "refs/heads/feature/basket #1", commit, source };

test.each(linkFixtures)("$provider has its own pages", ({ provider, cloneUrl, branch, tag, ...pages }) => {
  const links = (ref: string) => hostLinksOf({ ...task, ref }, { cloneUrl, provider, serving });
  expect(links(task.ref)).toEqual({ ...pages, ref: branch });
  expect(links("refs/tags/v1")).toEqual({ ...pages, ref: tag });
});

test("a public service is known by its name, whatever the provider of the webhook", () => {
  const cloneUrl = "https://gitlab.com/acme/shop.git";
  for (const provider of ["generic", "github", "gitlab"] as const)
    expect(hostLinksOf(task, { cloneUrl, provider, serving: commit })).toMatchObject({
      ...{ mergeRequest: "https://gitlab.com/acme/shop/-/merge_requests/12", compare: null },
    });
});

test("a host that is not known, such as one named like a property of every object, has no pages", () => {
  for (const host of ["constructor", "git.example.com"])
    for (const provider of ["generic", "bitbucket"] as const)
      expect(hostLinksOf(task, { cloneUrl: `https://${host}/acme/shop.git`, provider, serving })).toBeNull();
});

test("local repositories and tasks without a commit have no links that lead elsewhere", () => {
  expect(hostLinksOf(task, { cloneUrl: "/srv/git/shop.git", provider: "github", serving })).toBeNull();
  const tip = { ref: "refs/heads/main", commit: null, source: null };
  const cloneUrl = "https://github.com/acme/shop.git";
  expect(hostLinksOf(tip, { cloneUrl, provider: "github", serving })).toMatchObject({
    commit: null,
    mergeRequest: null,
    compare: null,
  });
  expect(
    hostLinksOf(task, { cloneUrl: "javascript://github.com/%0aalert(1)", provider: "github", serving }),
  ).toBeNull();
});
