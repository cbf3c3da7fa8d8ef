import { useIsFetching, useIsMutating } from "@tanstack/react-query";
import { useEffect, useState } from "react";

const patienceMs = 300;

/** A line at the top edge while anything takes longer than a moment. */
export function Progress() {
  const isBusy = useIsFetching() + useIsMutating() > 0;
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    if (!isBusy) {
      setShown(false);
      return;
    }
    const timer = setTimeout(() => setShown(true), patienceMs);
    return () => clearTimeout(timer);
  }, [isBusy]);
  return <div className="progress" data-shown={isShown || undefined} aria-hidden="true" />;
}
