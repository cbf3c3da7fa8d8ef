import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sshKeyFault } from "../../src/model/git/ssh-key.ts";
import { newDeployKey } from "../../src/set-up/deploy-key.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("ssh-keygen reads a generated deploy key and derives the same public key from it", () => {
  const folder = temporaryFolder("key");
  for (let turn = 0; turn < 3; turn++) {
    const { privateKey, publicKey } = newDeployKey(`slipway-project-${turn}`);
    expect(sshKeyFault(privateKey)).toBeNull();
    const file = join(folder, `key-${turn}`);
    writeFileSync(file, privateKey, { mode: 0o600 });
    expect(Bun.spawnSync(["ssh-keygen", "-y", "-f", file]).stdout.toString().trim()).toBe(publicKey);
  }
});
