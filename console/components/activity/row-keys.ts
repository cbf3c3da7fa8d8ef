import { type RefObject, useEffect } from "react";
import { isTyping } from "../../shortcuts.ts";

/** J and K go from row to row, X selects the row. Enter opens it, because its link has the focus. */
export function useRowKeys(list: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector('[role="dialog"]') !== null) return;
      const rows = [...(list.current?.children ?? [])];
      const current = rows.findIndex((row) => row.contains(document.activeElement));
      if (event.key === "x") rows[current]?.querySelector<HTMLElement>("input")?.click();
      else if (event.key === "j" || event.key === "k") {
        const next = current < 0 ? 0 : current + (event.key === "j" ? 1 : -1);
        rows[next]?.querySelector<HTMLElement>("a")?.focus();
      } else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [list]);
}
