import { useEffect } from "react";
import { useLocation } from "wouter";

/** Leads from `/projects?add=1` to the page that adds a project. */
export function AddProject({ isOpen, groupId }: { isOpen: boolean; groupId: string }) {
  const [, go] = useLocation();
  useEffect(() => {
    if (isOpen) go(`/projects/new${groupId === "" ? "" : `?groupId=${groupId}`}`, { replace: true });
  }, [isOpen, groupId, go]);
  return null;
}
