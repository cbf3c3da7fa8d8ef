import { useEffect } from "react";

/** Something that can be done on the page that is open. The search offers it too. */
export interface PageAction {
  title: string;
  run: () => void;
}

const offered = new Map<symbol, readonly PageAction[]>();

/** Offers actions in the search while the component is on the page. */
export function usePageActions(actions: readonly PageAction[]): void {
  useEffect(() => {
    const part = Symbol("part of the page");
    offered.set(part, actions);
    return () => void offered.delete(part);
  });
}

/** In the order in which they stand on the page. */
export function pageActions(): PageAction[] {
  return [...offered.values()].flat();
}
