import { expect, test } from "bun:test";
import { gitFault } from "../../src/git/git-fault.ts";
import { renderReason } from "../../src/reason/reason.ts";

const said = (output: string, url: string) =>
  renderReason(gitFault(output, { url, credential: null }, "server") ?? "");

test("a place without a repository is named, on this machine and over ssh", () => {
  const output =
    "fatal: '/srv/shop.git' does not appear to be a git repository\nfatal: Could not read from remote repository.";
  expect(said(output, "/srv/shop.git")).toBe("there is no Git repository at /srv/shop.git");
  expect(said(output, "git@host.example.com:shop.git")).toBe(
    "there is no Git repository at git@host.example.com:shop.git",
  );
  expect(said("fatal: repository '/srv/shop.git' does not exist", "/srv/shop.git")).toContain(
    "/srv/shop.git",
  );
});
