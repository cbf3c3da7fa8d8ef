import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { gitOriginOf, gitUrlFault } from "../../src/model/git/git-url.ts";
import type { Project } from "../../src/model/project.ts";
import type { Task } from "../../src/model/task.ts";
import { renderReason } from "../../src/reason/reason.ts";
import { commitStatusCall } from "../../src/task/notify/commit-status.ts";

const rules = { allowLocal: false, samplesDir: "/var/lib/slipway/samples", trusted: [] };

describe("a clone address", () => {
  test.each([
    "https://git.example.com/shop.git",
    "https://git.example.com:8443/a/b.git",
    "ssh://git@git.example.com/shop.git",
    "ssh://git@git.example.com:2222/shop.git",
    "ssh://git@[2001:db8:0:0:0:0:0:1]:2222/shop.git",
    "git@git.example.com:team/shop.git",
    "/var/lib/slipway/samples/hello.git",
    "file:///var/lib/slipway/samples/hello.git",
  ])("%s may be used", (url) => {
    expect(gitUrlFault(url, rules)).toBeNull();
  });

  test.each([
    ["", "characters"],
    ["http://git.example.com/shop.git", "https://"],
    ["git://git.example.com/shop.git", "https://"],
    ["file:///etc", "https://"],
    ["/etc/passwd", "https://"],
    ["/var/lib/slipway/samples/../slipway.db", ". or .."],
    ["/var/lib/slipway/samples-not/x", "https://"],
    ["ext::sh -c id", "spaces"],
    ["ext::sh", "helper"],
    ["--upload-pack=touch", "dash"],
    ["ssh://-oProxyCommand=id/x", "host"],
    ["ssh://-x@host/x", "host"],
    ["ssh://[git.example.com]@evil.example.com/shop.git", "brackets"],
    ["ssh://git.example.com/b.git%40[evil.example.com]%2Fshop.git", "brackets"],
    ["ssh://git.example.com/b.git@%5bevil.example.com%5d/shop.git", "brackets"],
    ["git.example.com:b@[evil.example.com]:shop.git", "brackets"],
    ["-oProxyCommand@host:x", "dash"],
    ["https://user:pass@git.example.com/shop.git", "credential"],
    ["https://ghp_token@git.example.com/shop.git", "credential"],
    ["ssh://git:pass@git.example.com/shop.git", "credential"],
    ["https://git.example.com/a b.git", "spaces"],
    ["https://git.example.com/a\nb", "control"],
    ["git@host:-x", "https or ssh"],
    ["file:///var/lib/slipway/samples/%2e%2e/%2e%2e/private.git", "%"],
    ["file:///var/lib/slipway/samples/%2E./private.git", "%"],
    ["ssh://x%40evil.example.com%2F@git.example.com/shop.git", "%"],
    ["ssh://git.example.com?@evil.example.com/shop.git", "?"],
    ["ssh://git.example.com#@evil.example.com/shop.git", "#"],
    ["https://git.example.com?@evil.example.com/shop.git", "?"],
    ["https://git.example.com#@evil.example.com/shop.git", "#"],
    ["https://git.example%2ecom/shop.git", "%"],
    ["shop", "https or ssh"],
  ])("%p is refused with a sentence that says %p", (url, said) => {
    expect(renderReason(gitUrlFault(url, rules) ?? "")).toContain(said);
  });

  test("may be local when the operator allows it, but never a helper or an option", () => {
    const local = { ...rules, allowLocal: true };
    for (const url of ["/srv/git/shop.git", "file:///srv/git/shop.git", "http://localhost:3000/shop.git"])
      expect(gitUrlFault(url, local)).toBeNull();
    for (const url of ["ext::sh", "-x", "relative/path", "ssh://-x/y"])
      expect(gitUrlFault(url, local)).not.toBeNull();
  });

  test("that passes never starts with a dash and never holds a control character or a helper", () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom("https://", "ssh://", "git@", "", "/", "-"), (rest, start) => {
        const url = start + rest;
        if (gitUrlFault(url, { ...rules, allowLocal: true }) !== null) return;
        expect(url).not.toMatch(/^-|::|\s|\p{Cc}/u);
      }),
    );
  });
});

describe("the server of a clone address", () => {
  test.each([
    ["https://git.example.com/a.git", "https://GIT.example.com:443/b.git"],
    ["ssh://git@git.example.com/a.git", "deploy@Git.Example.com:b.git"],
    ["ssh://git.example.com:22/a.git", "git.example.com:b.git"],
    ["/srv/a.git", "file:///srv/b.git"],
  ])("is the same in %s and %s", (one, other) => {
    expect(gitOriginOf(one)).toBe(gitOriginOf(other));
  });

  test.each([
    "https://git.example.com:8443/a.git",
    "http://git.example.com/a.git",
    "ssh://git@git.example.com/a.git",
    "git@git.example.com:a.git",
    "https://git.example.com.evil.example.com/a.git",
    "https://git.example.com./a.git",
    "https://evil.example.com/git.example.com/a.git",
    "https://evil.example.com#git.example.com/a.git",
    "https://evil.example.com?git.example.com/a.git",
    "git.example.com@evil.example.com:a.git",
    "/git.example.com/a.git",
  ])("is not https://git.example.com in %s", (url) => {
    expect(gitOriginOf(url)).not.toBe(gitOriginOf("https://git.example.com/a.git"));
  });
});

/** URLs for which programs disagree about the end of the host. */
const confusing = fc
  .array(
    fc.constantFrom(
      ...["git.example.com", "evil.example.com", "git", "a/b.git", ":2222", "..", "%2e"],
      ...["@", ":", "/", "//", "?", "#", "%40", "%2F", "%3A", "[", "]", ";", "=", "-"],
    ),
    { minLength: 1, maxLength: 9 },
  )
  .map((parts) => parts.join(""));
const addresses = fc
  .tuple(fc.constantFrom("https://", "ssh://", "git@", "", "SSH://"), confusing)
  .map((parts) => parts.join(""))
  .filter((url) => gitUrlFault(url, rules) === null);

describe("every program reads the same server from an address that may be used:", () => {
  const hostOf = (url: string) => /^\w+:\/\/(.*):\d+$/.exec(gitOriginOf(url))?.[1] ?? "";
  const task = { id: 1, projectId: 1, commit: "a".repeat(40), state: "queued", reason: "" } as Task;

  const project = (url: string) =>
    ({ id: 1, git: { url }, commitStatus: { context: "slipway", skipped: false } }) as Project;

  test("the call that carries the status token", () => {
    const check = (url: string) => {
      const call = commitStatusCall(task, project(url), "gitea", "https://here");
      if (call !== null) expect(new URL(call.url).hostname).toBe(hostOf(url));
    };
    check("git.example.com:b@evil.example.com:team/shop.git");
    fc.assert(fc.property(addresses, check), { numRuns: 5000 });
  });

  test("git, when it starts ssh", () => {
    const check = (url: string) => {
      if (!gitOriginOf(url).startsWith("ssh://")) return undefined;
      const { stderr } = Bun.spawnSync(["git", "ls-remote", "--", url], {
        env: {
          PATH: process.env.PATH ?? "",
          GIT_SSH_VARIANT: "ssh",
          GIT_SSH_COMMAND: `sh -c 'echo "to:$*" >&2' --`,
        },
      });
      const called = /^to:(?:-\S+ |\S+=\S+ |\d+ )*(?:\S*@)?([^@ ]+) git-upload-pack/m.exec(
        stderr.toString(),
      )?.[1];
      if (called !== undefined) expect(called.toLowerCase()).toBe(hostOf(url));
      return called;
    };
    expect(check("ssh://git@git.example.com:2222/shop.git")).toBe("git.example.com");
    expect(check("git.example.com:b@evil.example.com:team/shop.git")).toBe("git.example.com");
    fc.assert(
      fc.property(addresses, (url) => void check(url)),
      { numRuns: 60 },
    );
  });
});

test("the error for a local repository names the setting, the file and the restart", () => {
  const fault = gitUrlFault("/srv/git/shop.git", { ...rules, samplesDir: "/data/samples" });
  expect(renderReason(fault ?? "")).toContain(
    "set tasks.allowLocalRepositories: true in slipway.yaml and restart the server",
  );
});

test.each([
  ["http://git.corp.lan:3000/ann/shop.git", true],
  ["http://GIT.corp.lan:3000/ann/shop.git", true],
  ["http://git.corp.lan/ann/shop.git", false],
  ["http://git.corp.lan:3001/ann/shop.git", false],
  ["http://git.corp.lan:3000@evil.example.com/shop.git", false],
  ["http://ann@git.corp.lan:3000/ann/shop.git", false],
  ["http://git.corp.lan.evil.example.com:3000/shop.git", false],
  ["git://git.corp.lan:3000/ann/shop.git", false],
])("with a trusted origin, http to %s: %p", (url, isAllowed) => {
  const trusted = ["http://git.corp.lan:3000"];
  expect(gitUrlFault(url, { ...rules, trusted }) === null).toBe(isAllowed);
});
