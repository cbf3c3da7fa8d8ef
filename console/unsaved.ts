import { useEffect, useSyncExternalStore } from "react";

/** Forms on the page that hold something which is not saved. */
const forms = new Set<symbol>();

export function hasUnsaved(): boolean {
  return forms.size > 0;
}

/** While `isUnsaved`, whoever leaves the page is asked first. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return;
    const form = Symbol("form");
    forms.add(form);
    return () => void forms.delete(form);
  }, [isUnsaved]);
}

/** What is done once the loss is accepted; null: nothing is asked. */
let pending: (() => void) | null = null;
const listeners = new Set<() => void>();

function setPending(leave: (() => void) | null): void {
  pending = leave;
  for (const listener of listeners) listener();
}

/** Does it at once, or after the question if something would be lost. */
export function leaving(leave: () => void): void {
  if (hasUnsaved()) setPending(leave);
  else leave();
}

/** Does it without a question: what is not saved belongs to something that is gone. */
export function leavingFreely(leave: () => void): void {
  forms.clear();
  leave();
}

/** The question that waits for an answer. */
export function useLeaveQuestion(): { isAsked: boolean; stay: () => void; leave: () => void } {
  const asked = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => pending,
  );
  return {
    isAsked: asked !== null,
    stay: () => setPending(null),
    leave: () => {
      setPending(null);
      if (asked !== null) leavingFreely(asked);
    },
  };
}

// A reload, a closed tab or another site: here the browser asks, in its own words.
addEventListener("beforeunload", (event) => {
  if (hasUnsaved()) event.preventDefault();
});
