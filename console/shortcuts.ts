import { useLayoutEffect, useRef } from "react";
import { useLocation } from "wouter";
import { pagesFor } from "./places.ts";
import { keepKey } from "./typed-ahead.ts";

/** The second key of a sequence must follow within this time. */
const sequenceMs = 1200;

/** Keys that work on every page, except while text is typed or a dialog is open. */
export function useShortcuts(role: "admin" | "user", open: (dialog: "search" | "help") => void): void {
  const [, go] = useLocation();
  const latest = useRef({ go, open });
  latest.current = { go, open };
  // A layout effect: the keys work as soon as the page is visible.
  useLayoutEffect(() => {
    let leaderAtMs = 0;
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        latest.current.open("search");
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target))
        return;
      if (keepKey(event)) return;
      if (document.querySelector('[role="dialog"]') !== null) return;
      const isSecond = performance.now() - leaderAtMs < sequenceMs;
      leaderAtMs = 0;
      const place = isSecond
        ? pagesFor(role).find(({ key, moreKeys = [] }) => [key, ...moreKeys].includes(event.key))
        : undefined;
      if (place !== undefined) latest.current.go(place.href);
      else if (event.key === "/") latest.current.open("search");
      else if (event.key === "?") latest.current.open("help");
      else if (event.key === "g") {
        leaderAtMs = performance.now();
        return;
      } else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [role]);
}

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.matches(
        "input:not([type=checkbox], [type=radio]), textarea, select, [role=textbox], [role=combobox]",
      ))
  );
}
