import { useEffect, useSyncExternalStore } from "react";

/** Forms on the page with unsaved changes. */
const forms = new Set<symbol>();

export function hasUnsaved(): boolean {
  return forms.size > 0;
}

/** While `isUnsaved`, leaving the page needs a confirmation. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return;
    const form = Symbol("form");
    forms.add(form);
    return () => void forms.delete(form);
  }, [isUnsaved]);
}

/** The navigation that waits for a confirmation; null: none. */
let pending: (() => void) | null = null;
const listeners = new Set<() => void>();

function setPending(leave: (() => void) | null): void {
  pending = leave;
  for (const listener of listeners) listener();
}

/** Calls `leave` at once, or after a confirmation if there are unsaved changes. */
export function leaving(leave: () => void): void {
  if (hasUnsaved()) setPending(leave);
  else leave();
}

/** Calls `leave` without a confirmation and forgets unsaved changes. */
export function leavingFreely(leave: () => void): void {
  forms.clear();
  leave();
}

/** State of the confirmation dialog. */
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

// For a reload, a closed tab or another site the browser shows its own confirmation.
addEventListener("beforeunload", (event) => {
  if (hasUnsaved()) event.preventDefault();
});
