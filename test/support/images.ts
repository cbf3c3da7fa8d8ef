import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { findCaddy } from "./caddy.ts";
import { readCompose } from "./compose.ts";
import { outputOf } from "./release-folder.ts";
import { installPackages, ServiceUnavailable } from "./service-install.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The images of deploy/Dockerfile, as tests name them. */
export const images = {
  server: "localhost/slipway-test/server",
  runner: "localhost/slipway-test/runner",
} as const;

/** Replaces debian:13-slim: the same packages, without the files that slim images omit. */
const debian = "localhost/slipway-test/debian-13-slim";
/** Replaces Caddy's own image, of which the image of the runner takes the program. */
const caddy = "localhost/slipway-test/caddy";
const leftOut = ["path-exclude=/usr/share/man/*", "path-exclude=/usr/share/locale/*"].concat(
  ["path-exclude=/usr/share/doc/*", "path-include=/usr/share/doc/*/copyright"],
  "path-exclude=/usr/share/info/*",
);

/**
 * Builds both images from the folder of a release. `engineArguments` is what podman needs on this machine. Answers a
 * function that deletes them and what was built on the way.
 */
export async function buildImages(
  ofRelease: Promise<string>,
  engineArguments: string[],
): Promise<() => Promise<void>> {
  const [release] = await Promise.all([ofRelease, importDebian(), importCaddy()]);
  const made: string[] = [];
  for (const [target, tag] of Object.entries(images)) {
    const bases = [`DEBIAN=${debian}`, `CADDY=${caddy}`].flatMap((base) => ["--build-arg", base]);
    const options = [...bases, "--target", target, "--tag", tag, ...engineArguments];
    // Only this format has health checks. Layers are kept: both images begin with the same ones.
    const command = ["podman", "build", "--format=docker", "--layers", ...options];
    const output = await outputOf([...command, "-f", "deploy/Dockerfile", "."], release);
    made.unshift(
      ...[...output.matchAll(/^--> (?:Using cache )?([0-9a-f]+)$/gm)].map(([, id]) => id ?? "").reverse(),
    );
  }
  return async () => {
    await outputOf(["podman", "rmi", "--force", ...Object.values(images)]);
    // Some are gone with the images.
    for (const id of made) Bun.spawnSync(["podman", "rmi", id]);
  };
}

async function importDebian(): Promise<void> {
  if (Bun.spawnSync(["podman", "image", "exists", debian]).exitCode === 0) return;
  if (!Bun.which("mmdebstrap") && !(await installPackages("mmdebstrap")))
    throw new ServiceUnavailable("mmdebstrap is not installed: install the package `mmdebstrap`.");
  const archive = join(temporaryFolder("debian"), "debian.tar");
  const options = leftOut.map((option) => `--dpkgopt=${option}`);
  await outputOf(["mmdebstrap", "--variant=apt", ...options, "trixie", archive]);
  await outputOf(["podman", "import", archive, debian]);
}

async function importCaddy(): Promise<void> {
  if (Bun.spawnSync(["podman", "image", "exists", caddy]).exitCode === 0) return;
  const folder = temporaryFolder("caddy-image");
  mkdirSync(join(folder, "usr/bin"), { recursive: true });
  copyFileSync(await findCaddy(), join(folder, "usr/bin/caddy"));
  const archive = join(temporaryFolder("caddy-archive"), "caddy.tar");
  await outputOf(["tar", "-C", folder, "-cf", archive, "usr"]);
  await outputOf(["podman", "import", archive, caddy]);
}

/** Bytes of an image. */
export async function sizeOf(image: string): Promise<number> {
  return Number(await outputOf(["podman", "image", "inspect", "--format", "{{.Size}}", image]));
}

/** Arguments of `podman run` that take a container what a compose file takes its service: root, privileges. */
export async function restrictedAs(file: Parameters<typeof readCompose>[0], name: string): Promise<string[]> {
  const service = (await readCompose(file)).services[name];
  return [
    ...(service?.read_only ? ["--read-only"] : []),
    ...(service?.tmpfs ?? []).flatMap((mount) => ["--tmpfs", mount]),
    ...(service?.cap_drop ?? []).flatMap((name) => ["--cap-drop", name]),
    ...(service?.security_opt ?? []).flatMap((option) => ["--security-opt", option]),
  ];
}
