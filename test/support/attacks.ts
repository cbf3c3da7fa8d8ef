import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./temporary-folder.ts";

/** What scripts look for on this machine, and the attacks that print REACHED if they succeed. */
export interface AttackScene {
  /** Places that no script may read or write, by name. */
  places: Record<string, string>;
  /** A process of the same user, with a secret in its environment. */
  victim: { pid: number; kill(): void };
  /** A program that gives its user the rights of root. */
  setuid: string;
  remove(): void;
}

const secret = "the-secret-of-another";

/** Makes what is attacked. As root: scripts run as `uid`, and so does the victim. */
export function makeAttackScene({ uid, gid }: { uid: number; gid: number }): AttackScene {
  // In folders that every sandbox shows.
  const data = `/opt/slipway-attack-${process.pid}`;
  const settings = `/etc/slipway-attack-${process.pid}.yaml`;
  const setuid = `/usr/local/bin/slipway-attack-${process.pid}`;
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, "key"), secret);
  writeFileSync(settings, `log.level: info # ${secret}\n`);
  // Readable by everyone: only the view of a sandbox keeps them from a script.
  for (const path of [data, join(data, "key"), settings]) chmodSync(path, path === data ? 0o777 : 0o666);
  copyFileSync("/usr/bin/id", setuid);
  chmodSync(setuid, 0o4755);
  const token = join(temporaryFolder("token"), "runner.token");
  writeFileSync(token, secret);
  chmodSync(token, 0o644);
  const victim = Bun.spawn(
    ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "sleep", "3600"],
    {
      env: { PATH: process.env.PATH ?? "", SERVICE_PASSWORD: secret },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    },
  );
  return {
    places: { data: join(data, "key"), settings, token },
    victim: { pid: victim.pid, kill: () => victim.kill("SIGKILL") },
    setuid,
    remove() {
      victim.kill("SIGKILL");
      for (const path of [data, settings, setuid]) rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Reads it in the way that a script would, also through a link in its workspace. */
export function readAttack(path: string): string {
  return `ln -sfn ${path} link; for f in ${path} link; do
  if grep -q . "$f" 2>/dev/null; then echo "REACHED $f"; fi
  if [ -d "$f" ] && ls "$f/" >/dev/null 2>&1; then echo "REACHED $f"; fi
done; rm -f link; echo looked`;
}

export const attacks: Record<string, (scene: AttackScene) => string> = {
  "the environment of a running service": () =>
    `if cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -q ${secret}; then echo REACHED; fi; echo looked`,
  "a signal to a process outside": ({ victim }) =>
    `if kill -0 ${victim.pid} 2>/dev/null && grep -q sleep /proc/${victim.pid}/cmdline; then echo REACHED; fi; echo looked`,
  "a trace of a process outside": ({ victim }) =>
    // The kernel lets a process read this file of another one if it may trace it.
    `if grep -q sleep /proc/${victim.pid}/maps 2>/dev/null; then echo REACHED; fi; echo looked`,
  "a program with the rights of root": ({ setuid }) =>
    `if [ "$(${setuid} -u 2>/dev/null)" = 0 ]; then echo REACHED; fi; echo looked`,
  "a user namespace of its own": () => "if unshare -U true 2>/dev/null; then echo REACHED; fi; echo looked",
  "the file of passwords": () => readAttack("/etc/shadow"),
  "the data folder": ({ places }) => readAttack(places.data ?? ""),
  "the settings": ({ places }) => readAttack(places.settings ?? ""),
  "the token of the runner": ({ places }) => readAttack(places.token ?? ""),
  "sockets of the machine": () =>
    "for s in /run/docker.sock /var/run/docker.sock /run/podman /run/dbus /run/systemd; do if [ -e $s ]; then echo REACHED $s; fi; done; echo looked",
};
