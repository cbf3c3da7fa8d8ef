import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { installPackages, run, ServiceUnavailable } from "./service-install.ts";
import { answers, launch, type RunningService, serviceFolder } from "./service-process.ts";

/** An SSH server on loopback that accepts one key for the user of this process. */
export interface Sshd extends RunningService {
  /** `ssh://user@127.0.0.1:port`, to which a path is added. */
  readonly url: string;
  /** The private key of the accepted public key. */
  readonly privateKey: string;
  /** Gives the host another key, as after a reinstallation or with a man in the middle. */
  changeHostKey(): Promise<void>;
}

/** The path of an OpenSSH server; each test starts it itself. */
export async function findSshd(): Promise<string> {
  const found = find() ?? ((await installPackages("openssh-server")) ? find() : undefined);
  if (found) return found;
  throw new ServiceUnavailable(
    "The OpenSSH server is not installed: install the package `openssh-server`, or set SLIPWAY_TEST_SSHD to an executable.",
  );
}

/** sbin is not on every PATH, and sshd must be called by its absolute path. */
function find(): string | undefined {
  return Bun.which("sshd") ?? ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].find((path) => existsSync(path));
}

/** Creates a key pair; returns the file of the private key. */
export async function makeSshKey(file: string, passphrase = ""): Promise<string> {
  const isMade = await run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", file]);
  if (!isMade) throw new Error("ssh-keygen failed; its message stands above.");
  return file;
}

export async function startSshd(executable: string): Promise<Sshd> {
  const folder = serviceFolder("sshd");
  const port = freePort();
  const file = (name: string) => join(folder, name);
  await makeSshKey(file("host"));
  const userKey = await makeSshKey(file("user"));
  const settings = {
    Port: port,
    ListenAddress: "127.0.0.1",
    HostKey: file("host"),
    AuthorizedKeysFile: file("user.pub"),
    PidFile: "none",
    PasswordAuthentication: "no",
    KbdInteractiveAuthentication: "no",
    PermitRootLogin: "prohibit-password",
    UsePAM: "no",
    // The folder is in /tmp, which every user may write.
    StrictModes: "no",
    LogLevel: "VERBOSE",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}\n`);
  await Bun.write(file("sshd_config"), lines.join(""));
  // The init script of the package would create it; only root needs it.
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
  const service = await launch({
    name: "sshd",
    url: `ssh://${Bun.spawnSync(["id", "-un"]).stdout.toString().trim()}@127.0.0.1:${port}`,
    folder,
    command: [executable, "-D", "-e", "-f", file("sshd_config")],
    isReady: () => answers(port, Buffer.from("SSH-2.0-probe\r\n")),
  });
  return Object.assign(service, {
    privateKey: await Bun.file(userKey).text(),
    async changeHostKey() {
      await makeSshKey(file("next"));
      await Bun.write(file("host"), await Bun.file(file("next")).text());
      await Bun.write(file("host.pub"), await Bun.file(file("next.pub")).text());
      chmodSync(file("host"), 0o600);
      await service.restart();
    },
  });
}
