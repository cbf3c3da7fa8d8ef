import { copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installPackages, run, ServiceUnavailable } from "./service-install.ts";
import { serviceFolder } from "./service-process.ts";

/** A small image with a shell, imported from a folder: no registry is needed. */
export const testImage = "localhost/slipway-test/busybox:latest";

/** What `podman run` needs on this machine: nothing, or a runtime and limits that work with mixed cgroups. */
const attempts = [
  ["--pull=never"],
  ["--pull=never", "--runtime=runc", "--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"],
];

/** Finds or installs podman and imports the image; answers the arguments of `run` that work, comma-separated. */
export async function findPodman(): Promise<string> {
  const isThere = () => Bun.which("podman") !== null && existsSync(busybox);
  if (!isThere()) await installPackages("podman", "runc", "busybox-static");
  if (!isThere())
    throw new ServiceUnavailable(
      "podman is not installed: install the packages `podman`, `runc` and `busybox-static`.",
    );
  if (!(await run(["podman", "image", "exists", testImage], { quiet: true }))) await importImage();
  for (const options of attempts) {
    const hello = ["podman", "run", "--rm", ...options, testImage, "true"];
    if (await run(hello, { quiet: true })) return options.join(",");
  }
  throw new ServiceUnavailable("podman is installed, but cannot run containers on this machine.");
}

const busybox = "/bin/busybox";

async function importImage(): Promise<void> {
  const folder = serviceFolder("image");
  const root = join(folder, "root");
  for (const name of ["bin", "etc", "root", "tmp", "home"]) mkdirSync(join(root, name), { recursive: true });
  copyFileSync(busybox, join(root, "bin/busybox"));
  const commands = Bun.spawnSync([busybox, "--list"]).stdout.toString().trim().split("\n");
  for (const name of commands) if (name !== "busybox") symlinkSync("busybox", join(root, "bin", name));
  writeFileSync(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
  writeFileSync(join(root, "etc/group"), "root:x:0:\n");
  const archive = join(folder, "image.tar");
  const isMade =
    (await run(["tar", "-C", root, "-cf", archive, "."])) &&
    (await run(["podman", "import", archive, testImage]));
  rmSync(folder, { recursive: true, force: true });
  if (!isMade) throw new ServiceUnavailable("podman could not import the image of the tests.");
}
