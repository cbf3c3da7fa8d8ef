import { useSyncExternalStore } from "react";
import type { AroundNavHandler, BaseLocationHook, BaseSearchHook } from "wouter";
import { hideComplaint } from "./act.ts";
import { hasUnsaved, leaving } from "./unsaved.ts";

/**
 * The location that the pages of the console use. After the Back button the address bar is ahead of it: a page with
 * unsaved changes stays on screen until the user confirms that they may be lost.
 */
interface Place {
  path: string;
  search: string;
}

const here = (): Place => ({ path: location.pathname, search: location.search });

let shown = here();
/** Position in the browser history, so that a step can be reversed. */
let position = positionOf(history.state) ?? 0;
/** Set while a Back step is being reversed because of unsaved changes. */
let returning: { steps: number } | null = null;
const listeners = new Set<() => void>();

history.replaceState({ position }, "");

function positionOf(state: unknown): number | null {
  if (typeof state !== "object" || state === null || !("position" in state)) return null;
  return typeof state.position === "number" ? state.position : null;
}

function show(place: Place): void {
  if (place.path !== shown.path) hideComplaint();
  shown = place;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function go(to: string, { replace = false }: { replace?: boolean } = {}): void {
  if (!replace) position++;
  history[replace ? "replaceState" : "pushState"]({ position }, "", to);
  show(here());
}

window.addEventListener("popstate", ({ state }) => {
  const arrived = positionOf(state);
  if (arrived === null) {
    // A link to an anchor on this page added a history entry.
    position++;
    history.replaceState({ position }, "");
    return;
  }
  const steps = arrived - position;
  position = arrived;
  if (returning !== null) {
    const back = returning.steps;
    returning = null;
    leaving(() => history.go(back));
    return;
  }
  const isSame = location.pathname === shown.path && location.search === shown.search;
  if (isSame || steps === 0 || !hasUnsaved()) {
    show(here());
    return;
  }
  returning = { steps };
  history.go(-steps);
});

/** For `<Router hook>`. */
export const useConsoleLocation: BaseLocationHook = () => [
  useSyncExternalStore(subscribe, () => shown.path),
  go,
];

/** For `<Router searchHook>`. */
export const useConsoleSearch: BaseSearchHook = () => useSyncExternalStore(subscribe, () => shown.search);

/** For `<Router aroundNav>`: asks for confirmation before links and tabs leave the page. Changes of filters stay on it. */
export const askBeforeLeaving: AroundNavHandler = (navigate, to, options) => {
  const isOtherPage = new URL(to, location.href).pathname !== shown.path;
  if (isOtherPage) leaving(() => navigate(to, options));
  else navigate(to, options);
};
