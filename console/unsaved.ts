import { useEffect, useLayoutEffect, useRef, useSyncExternalStore } from "react";

/** A form whose changes the bar at the bottom of the page saves and discards. */
export interface UnsavedForm {
  /** Number of changed fields. */
  count: number;
  isSaving: boolean;
  save: () => void;
  discard: () => void;
}

/** Forms on the page with unsaved changes. Null: a form with its own buttons, such as a dialog. */
let forms: ReadonlyMap<symbol, UnsavedForm | null> = new Map();
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function announce(): void {
  for (const listener of listeners) listener();
}

function setForm(key: symbol, form: UnsavedForm | null | undefined): void {
  const next = new Map(forms);
  if (form === undefined) next.delete(key);
  else next.set(key, form);
  forms = next;
  announce();
}

export function hasUnsaved(): boolean {
  return forms.size > 0;
}

/** While `isUnsaved`, leaving the page needs a confirmation, from the moment at which the change is visible. */
export function useUnsaved(isUnsaved: boolean): void {
  useLayoutEffect(() => {
    if (!isUnsaved) return;
    const key = Symbol("form");
    setForm(key, null);
    return () => setForm(key, undefined);
  }, [isUnsaved]);
}

/** The same for a form without buttons of its own: the bar of the page saves and discards its changes. */
export function useUnsavedForm({ count, isSaving, save, discard }: UnsavedForm): void {
  const latest = useRef({ save, discard });
  useEffect(() => {
    latest.current = { save, discard };
  });
  useLayoutEffect(() => {
    if (count === 0) return;
    const key = Symbol("form");
    setForm(key, {
      count,
      isSaving,
      save: () => latest.current.save(),
      discard: () => latest.current.discard(),
    });
    return () => setForm(key, undefined);
  }, [count, isSaving]);
}

/** The forms that the bar of the page saves and discards. */
export function useUnsavedForms(): UnsavedForm[] {
  const current = useSyncExternalStore(subscribe, () => forms);
  return [...current.values()].filter((form) => form !== null);
}

/** The navigation that waits for a confirmation; null: none. */
let pending: (() => void) | null = null;

function setPending(leave: (() => void) | null): void {
  pending = leave;
  announce();
}

/** Calls `leave` at once, or after a confirmation if there are unsaved changes. */
export function leaving(leave: () => void): void {
  if (hasUnsaved()) setPending(leave);
  else leave();
}

/** Calls `leave` without a confirmation and forgets unsaved changes. */
function leavingFreely(leave: () => void): void {
  forms = new Map();
  announce();
  leave();
}

/** State of the confirmation dialog. */
export function useLeaveQuestion(): { isAsked: boolean; stay: () => void; leave: () => void } {
  const asked = useSyncExternalStore(subscribe, () => pending);
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
