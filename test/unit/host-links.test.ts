import { expect, test } from "bun:test";
import { hostLinksOf } from "../../src/task/host-links.ts";

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
const branch = "feature/basket%20%231";

test("a host that is named like a property of every object has no pages", () => {
  const cloneUrl = "https://constructor/acme/shop.git";
  expect(hostLinksOf(task, { cloneUrl, provider: "generic", serving })).toBeNull();
});

test("each host has its own pages", () => {
  const links = (cloneUrl: string) =>
    Object.values(hostLinksOf(task, { cloneUrl, provider: "generic", serving }) ?? {});
  expect(links("git@github.com:acme/shop.git")).toEqual([
    `https://github.com/acme/shop/commit/${commit}`,
    `https://github.com/acme/shop/tree/${branch}`,
    "https://github.com/acme/shop/pull/12",
    `https://github.com/acme/shop/compare/${serving}...${commit}`,
  ]);
  expect(links("https://gitlab.com/acme/web/shop.git")).toEqual([
    `https://gitlab.com/acme/web/shop/-/commit/${commit}`,
    `https://gitlab.com/acme/web/shop/-/tree/${branch}`,
    "https://gitlab.com/acme/web/shop/-/merge_requests/12",
    `https://gitlab.com/acme/web/shop/-/compare/${serving}...${commit}`,
  ]);
  expect(links("https://gitee.com/acme/shop.git")[2]).toBe("https://gitee.com/acme/shop/pulls/12");
  expect(links("ssh://git@bitbucket.org/acme/shop.git")[3]).toBe(
    `https://bitbucket.org/acme/shop/branches/compare/${commit}..${serving}`,
  );
});

test("a host of one's own is known by the webhook's provider", () => {
  const cloneUrl = "https://git.example.com:8443/acme/shop.git";
  const links = hostLinksOf(
    { ...task, ref: "refs/tags/v1" },
    { cloneUrl, provider: "gitea", serving: commit },
  );
  expect(links).toEqual({
    commit: `https://git.example.com:8443/acme/shop/commit/${commit}`,
    ref: "https://git.example.com:8443/acme/shop/src/tag/v1",
    mergeRequest: "https://git.example.com:8443/acme/shop/pulls/12",
    compare: null,
  });
  expect(hostLinksOf(task, { cloneUrl, provider: "generic", serving })).toBeNull();
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
