import lock from "../../../package-lock.json" with { type: "json" };
import type { PackageInside } from "../../model/console/system.ts";

interface Locked {
  version?: string;
  license?: string;
  dev?: boolean;
  /** Used by tests, and by a package that can do without it. */
  devOptional?: boolean;
  optional?: boolean;
  cpu?: string[];
}

const folder = "node_modules/";

/** The packages that the program and the console consist of, besides their own code. A compiled program has the lock file inside. */
export function packagesInside(): PackageInside[] {
  const found = Object.entries(lock.packages as Record<string, Locked>)
    .filter(([path, locked]) => path !== "" && isInside(locked))
    .map(([path, { version = "", license = "" }]) => ({
      name: path.slice(path.lastIndexOf(folder) + folder.length),
      version,
      licence: license,
    }));
  return found.sort((a, b) => a.name.localeCompare(b.name, "en"));
}

/** The builds of a package for each kind of machine are not listed beside it. */
function isInside({ dev = false, devOptional = false, optional = false, cpu }: Locked): boolean {
  return !dev && !devOptional && !(optional && cpu !== undefined);
}
