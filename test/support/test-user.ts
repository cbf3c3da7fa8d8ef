import { run } from "./service-install.ts";

export interface TestUser {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

/** An account of this machine that runs scripts in tests. Undefined where tests do not run as root; fails under CI. */
export async function makeTestUser(name = "slipway-test"): Promise<TestUser | undefined> {
  if (process.getuid?.() !== 0) {
    if (process.env.CI) throw new Error("Tests with another user need root.");
    return undefined;
  }
  const find = () => Bun.spawnSync(["getent", "passwd", name]).stdout.toString().trim();
  // Tests of another group may create a user at the same time, and one of them is refused.
  for (let attempt = 0; find() === "" && attempt < 10; attempt++) {
    const isMade = await run(["useradd", "--system", "--create-home", "--shell", "/bin/sh", name]);
    // The lock of the user database is theirs for as long.
    if (!isMade) await Bun.sleep(1_000);
  }
  const [, , uid = "", gid = "", , home = ""] = find().split(":");
  if (uid === "") throw new Error(`The user ${name} could not be created.`);
  return { name, uid: Number(uid), gid: Number(gid), home };
}
