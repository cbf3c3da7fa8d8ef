import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { RoutePlace } from "../../model/service/route.ts";
import { foldersIn } from "../workspace/folders.ts";
import { fileNameOf, type ServedRoute } from "./served-route.ts";

/** A route and the file with the port of its service. */
export interface ShownRoute {
  route: ServedRoute;
  portFile: string;
}

const current = "current";
const paused = "paused";
/** An empty folder: a proxy that finds no port waits for one. */
const hold = "hold";
const listFile = "routes.json";

const usualPage = `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Not available</title><body style="font: 1rem system-ui; margin: 20vh auto; max-width: 30em; padding: 0 1em">
<h1>Not available</h1><p>This site is not available at the moment. Please try again later.</p>`;

/** Ends by itself when its input ends, which is when the runner does, and after half a minute. */
const endOfPause = `cd "$1" && { timeout 30 cat >/dev/null; mv -T ${paused} ${current}; }`;

/**
 * What a proxy reads at each request of a project's routes. `current` is a link to a folder with two files for each domain and
 * path: a link to the port of a service, and the page that is shown while nothing serves. To replace this one link is the
 * switch: it moves all routes of the project at once, and nothing is closed.
 */
export function openRouteFolder(root: string, projectId: number) {
  const folder = join(root, String(projectId));
  const at = (name: string) => join(folder, name);

  const target = () => {
    try {
      return readlinkSync(at(current));
    } catch {
      return null;
    }
  };

  /** Replaces the link in one step. */
  function point(name: string): void {
    const beside = at("next");
    rmSync(beside, { force: true });
    symlinkSync(name, beside);
    renameSync(beside, at(current));
  }

  /** The folder is complete when it has its name. */
  function write(name: string, shown: ShownRoute[]): void {
    if (existsSync(at(name))) return;
    const beside = at(`${name}.new`);
    rmSync(beside, { recursive: true, force: true });
    mkdirSync(beside, { recursive: true, mode: 0o711 });
    for (const { route, portFile } of shown) {
      const file = join(beside, fileNameOf(route));
      symlinkSync(portFile, file);
      writeFileSync(`${file}.html`, route.maintenance || usualPage);
    }
    writeFileSync(join(beside, listFile), JSON.stringify(shown.map(({ route }) => route)));
    renameSync(beside, at(name));
  }

  return {
    /** The routes that the proxy serves now. */
    routes: () => readList(at(paused)) ?? readList(at(current)) ?? [],
    /** The switch. Does nothing if these are shown already. */
    show(shown: ShownRoute[]): void {
      // The pause of a runner that was killed must not bring an earlier release back.
      rmSync(at(paused), { force: true });
      if (shown.length === 0) {
        rmSync(folder, { recursive: true, force: true });
        return;
      }
      const name = createHash("sha256").update(JSON.stringify(shown)).digest("hex").slice(0, 16);
      if (target() === name) return;
      write(name, shown);
      point(name);
      for (const other of foldersIn(folder))
        if (other !== name) rmSync(at(other), { recursive: true, force: true });
    },
    /** Requests wait from now on. Returns how to end that; it ends by itself with the runner, and after half a minute. */
    async pause(): Promise<() => Promise<void>> {
      const serving = target();
      if (serving === null || lstatSync(at(paused), { throwIfNoEntry: false })) return async () => {};
      mkdirSync(at(hold), { recursive: true, mode: 0o711 });
      symlinkSync(serving, at(paused));
      const ending = Bun.spawn(["sh", "-c", endOfPause, "sh", folder], {
        stdio: ["pipe", "ignore", "ignore"],
        detached: true,
      });
      point(hold);
      return async () => {
        await ending.stdin.end();
        await ending.exited;
      };
    },
  };
}

function readList(folder: string): ServedRoute[] | null {
  try {
    return JSON.parse(readFileSync(join(folder, listFile), "utf8")) as ServedRoute[];
  } catch {
    return null;
  }
}

/** Where the proxy reads the port of a place, and the page of its service. */
export function filesOf(root: string, projectId: number, place: RoutePlace): { port: string; page: string } {
  const port = join(root, String(projectId), current, fileNameOf(place));
  return { port, page: `${port}.html` };
}
