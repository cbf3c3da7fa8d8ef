import { existsSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installPackages, ServiceUnavailable } from "./service-install.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The system's time as one process sees it, which a test sets while the process runs. Elapsed time is not changed. */
export interface SteppedClock {
  /** For the environment of the process. */
  env: Record<string, string>;
  /** Sets the time to this many seconds from the real one. */
  set(secondsAhead: number): void;
}

const wayToGetIt = "libfaketime is not installed: install the package `faketime`.";

/** A clock by libfaketime: the installed one, else Debian's package. */
export async function makeSteppedClock(): Promise<SteppedClock> {
  const library = findLibrary() ?? ((await installPackages("faketime")) ? findLibrary() : undefined);
  if (library === undefined) throw new ServiceUnavailable(wayToGetIt);
  const folder = temporaryFolder("clock");
  const file = join(folder, "offset");
  const set = (secondsAhead: number) => {
    const sign = secondsAhead < 0 ? "" : "+";
    writeFileSync(`${file}.new`, `${sign}${secondsAhead}\n`);
    // Written to another file and renamed: half a file would be another time.
    renameSync(`${file}.new`, file);
  };
  set(0);
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    },
    set,
  };
}

function findLibrary(): string | undefined {
  const folders = ["/usr/lib", ...readdirSync("/usr/lib").map((name) => join("/usr/lib", name))];
  const paths = folders.map((folder) => join(folder, "faketime", "libfaketimeMT.so.1"));
  return paths.find((path) => existsSync(path));
}
