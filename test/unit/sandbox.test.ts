import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderReason } from "../../src/reason/reason.ts";
import { type MachineView, readMachineView } from "../../src/runner/sandbox/machine-view.ts";
import { sandboxCommand } from "../../src/runner/sandbox/sandbox-command.ts";
import { sandboxFault } from "../../src/runner/sandbox/try-sandbox.ts";
import { sandboxHome } from "../../src/runner/stage/sandbox-run.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const machine: MachineView = {
  readOnly: ["/usr", "/etc"],
  links: [{ path: "/bin", target: "usr/bin" }],
  added: [{ path: "/srv/www", isWritable: true }],
  hiddenFolders: ["/usr/lib/slipway"],
  hiddenFiles: ["/etc/slipway.yaml"],
};

describe("the command of a sandbox", () => {
  const command = sandboxCommand({
    machine,
    mounts: [{ source: "/checkout", isReadOnly: true }],
    temporary: "/stage/tmp",
    cwd: "/checkout",
    hasNetwork: false,
    command: ["sh", "script"],
  }).join(" ");

  test("names the namespaces, and what is hidden after what shows it and before the folders of the task", () => {
    expect(command).toContain("--unshare-user --disable-userns --unshare-pid --unshare-ipc --unshare-uts");
    expect(command).toContain("--die-with-parent --as-pid-1 --unshare-net");
    const order = [
      "--ro-bind-try /usr",
      "--bind-try /srv/www",
      "--tmpfs /usr/lib/slipway",
      "--ro-bind /checkout",
    ];
    expect(order.map((part) => command.indexOf(part))).toEqual(
      order.map((part) => command.indexOf(part)).toSorted((a, b) => a - b),
    );
    expect(order.every((part) => command.includes(part))).toBe(true);
    expect(command).toEndWith("--chdir /checkout -- sh script");
  });

  test("puts HOME at the home of the account, unless a shown folder is there", () => {
    expect(sandboxHome(machine, "/home/ann")).toBe("/home/ann");
    for (const home of ["/", "/usr/games", "/bin", "/run/user/1", ""])
      expect(sandboxHome(machine, home)).toBe("/home/slipway");
  });
});

describe("what a sandbox shows of the machine", () => {
  const folder = temporaryFolder("view");
  const inEtc = `/etc/slipway-view-${process.pid}`;
  const isRoot = process.getuid?.() === 0;
  afterAll(() => {
    if (isRoot) rmSync(inEtc, { recursive: true, force: true });
  });

  test("hides secret folders that lie in a shown one, without those that another one covers", () => {
    const secret = join(folder, "shown/data");
    mkdirSync(join(secret, "runner"), { recursive: true });
    writeFileSync(join(folder, "shown/slipway.yaml"), "");
    const view = readMachineView(
      [{ path: join(folder, "shown"), isWritable: false }],
      [join(secret, "runner"), secret, join(folder, "shown/slipway.yaml"), "/nowhere", folder],
    );
    expect(view.hiddenFolders).toEqual([secret]);
    expect(view.hiddenFiles).toEqual([join(folder, "shown/slipway.yaml")]);
  });

  test.skipIf(!isRoot)(
    "has the files that links in /etc lead to, and no socket, folder of /run or secret",
    () => {
      const file = join(folder, "resolv.conf");
      const hidden = join(folder, "token");
      for (const path of [file, hidden]) writeFileSync(path, "");
      // Only targets outside of the shown and the sandbox's own folders count, so they must not lie in /tmp.
      const outside = `/var/slipway-view-${process.pid}`;
      mkdirSync(outside);
      mkdirSync(inEtc);
      try {
        writeFileSync(join(outside, "resolv.conf"), "");
        writeFileSync(join(outside, "token"), "");
        symlinkSync(join(outside, "resolv.conf"), join(inEtc, "resolv.conf"));
        symlinkSync(join(outside, "token"), join(inEtc, "token"));
        symlinkSync("/run", join(inEtc, "run"));
        symlinkSync("/nowhere", join(inEtc, "broken"));
        const { readOnly } = readMachineView([], [join(outside, "token")]);
        expect(readOnly).toContain(join(outside, "resolv.conf"));
        expect(readOnly).not.toContain(join(outside, "token"));
        expect(readOnly).not.toContain("/run");
      } finally {
        rmSync(outside, { recursive: true });
      }
    },
  );
});

describe("a sandbox that does not work", () => {
  const found = (output: string, tunables: Record<string, string> = {}, more = {}) =>
    sandboxFault({
      isInstalled: true,
      output,
      tunable: (name) => tunables[name] ?? null,
      isContainer: false,
      ...more,
    });

  test.each([
    [found("", {}, { isInstalled: false }), "install the package bubblewrap"],
    [found("bwrap: Unknown option --disable-userns"), "install version 0.8 or newer"],
    [
      found("bwrap: cannot open /proc/sys/user/max_user_namespaces: Read-only file system"),
      "remove ProtectKernelTunables=true",
    ],
    [
      found("bwrap: setting up uid map: Permission denied", {
        "kernel/apparmor_restrict_unprivileged_userns": "1\n",
      }),
      "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ],
    [
      found("bwrap: No permissions to create new namespace", { "kernel/unprivileged_userns_clone": "0\n" }),
      "sysctl kernel.unprivileged_userns_clone=1",
    ],
    [
      found("bwrap: Creating new namespace failed", { "user/max_user_namespaces": "0\n" }),
      "sysctl user.max_user_namespaces=",
    ],
    [found("bwrap: Creating new namespace failed", {}, { isContainer: true }), "seccomp=unconfined"],
    [found("bwrap: something else"), "bwrap does not work (bwrap: something else)"],
  ])("case %#: says what to do", (fault, wayOut) => {
    expect(renderReason(fault ?? "")).toContain(wayOut);
  });

  test("is none if the trial succeeds", () => {
    expect(found("")).toBeNull();
  });
});
