import { run } from "./service-install.ts";
import type { Launch } from "./service-process.ts";

let daemon: Promise<boolean> | undefined;

/** Whether a Docker daemon answers; asked once. */
export function hasDocker(): Promise<boolean> {
  daemon ??= Bun.which("docker") ? run(["docker", "info"], { quiet: true }) : Promise.resolve(false);
  return daemon;
}

export interface Container {
  name: string;
  image: string;
  /** Arguments of `docker run`, before the image. */
  options: string[];
}

/** The parts of a Launch that differ for a container: the child is only the client, signals go through the daemon. */
export function inDocker(container: Container): Pick<Launch, "command" | "signal"> {
  const { name, image, options } = container;
  return {
    command: ["docker", "run", "--rm", "--name", name, ...options, image],
    signal: (signal) => {
      Bun.spawnSync(["docker", "kill", "--signal", signal, name], { stdout: "ignore", stderr: "ignore" });
    },
  };
}
