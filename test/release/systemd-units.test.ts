import { chmodSync, copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { executableName, releaseFolder } from "../support/release-folder.ts";
import { describeUnits } from "../support/systemd-units.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Replaces /opt/slipway; it contains only the executable. */
const root = temporaryFolder("opt");
chmodSync(root, 0o755);
mkdirSync(join(root, "bin"));
copyFileSync(join(await releaseFolder(), executableName), join(root, "bin/slipway"));

describeUnits(root);
