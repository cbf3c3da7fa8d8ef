import { existsSync } from "node:fs";
import { findExecutable, installPackages, ServiceUnavailable } from "./service-install.ts";

/** The C library of arm64, as Debian installs it beside that of this machine. */
const libraries = "/usr/aarch64-linux-gnu";

/** The command that runs a program of arm64 Linux, separated by spaces. */
export async function findArm64(): Promise<string> {
  const emulator = await findExecutable("qemu-aarch64-static", "qemu-user-static", "SLIPWAY_TEST_ARM64");
  if (existsSync(libraries) || (await installPackages("libc6-arm64-cross")))
    return `${emulator} -L ${libraries}`;
  throw new ServiceUnavailable(
    "the C library of arm64 is not installed: install the package `libc6-arm64-cross`, or set SLIPWAY_TEST_ARM64 to a command that runs programs of arm64 Linux.",
  );
}
