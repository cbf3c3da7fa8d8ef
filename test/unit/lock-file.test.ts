import { expect, test } from "bun:test";

interface LockedPackage {
  resolved?: string;
  integrity?: string;
  dev?: boolean;
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
}

const lockFile = Bun.file(`${import.meta.dir}/../../package-lock.json`);
const { packages }: { packages: Record<string, LockedPackage> } = await lockFile.json();

test("the lock file names no download addresses, so that every registry and mirror will do", () => {
  const withAddress = Object.entries(packages).filter(([, entry]) => entry.resolved !== undefined);
  expect(withAddress.map(([path]) => path)).toEqual([]);
});

test("the lock file holds the packages of every platform, without which `npm ci` refuses", () => {
  const missing = Object.entries(packages).flatMap(([path, entry]) =>
    Object.keys(entry.optionalDependencies ?? {}).filter(
      (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
    ),
  );
  expect(missing).toEqual([]);
});

test("every package that is shipped has a checksum, and none is without one but a development tool of another platform", () => {
  const unchecked = Object.entries(packages).filter(
    ([path, entry]) => path !== "" && !/^sha512-[\w+/]{86}==$/.test(entry.integrity ?? ""),
  );
  const allowed = /^node_modules\/(@biomejs\/cli|@oxc-parser\/binding)-/;
  const wrong = unchecked.filter(([path, entry]) => !(entry.dev && entry.optional && allowed.test(path)));
  expect(wrong.map(([path]) => path)).toEqual([]);
});
