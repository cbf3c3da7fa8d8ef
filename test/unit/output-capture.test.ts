import { expect, test } from "bun:test";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { openCapture } from "../../src/runner/stage/output-capture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The kernel answers a read of this file with an error. */
const unreadable = "/sys/class/net/lo/speed";

test.skipIf(!existsSync(unreadable))(
  "output that cannot be read is reported once, and does not end the runner",
  async () => {
    const root = temporaryFolder("capture");
    let text = "";
    const path = join(root, "service/speed");
    const capture = openCapture([{ path, inside: "/sys" }], () => ({
      write: (bytes) => {
        text += Buffer.from(bytes).toString();
      },
      end() {},
    }));
    try {
      symlinkSync("/sys/class/net/lo", join(root, "service"));
      for (let look = 0; look < 3; look++) capture.read();
      expect(text).toMatch(/^\[.*service\/speed could not be read: EINVAL[^\n]*\]\n$/);
    } finally {
      capture.close();
    }
  },
);
