import type { InferResponseType } from "hono/client";
import type { api } from "./api.ts";
import { placesFor } from "./places.ts";
import { reasonIn } from "./text/reason-text.ts";
import { t } from "./text/text.ts";
import { shortCommit, shortRef } from "./time-text.ts";
import { visible } from "./visible.ts";

export type Found = InferResponseType<typeof api.search.$get, 200>;

type Kind = "actions" | "pages" | "projects" | "branches" | "commits" | "tasks" | "deliveries" | "users";

export interface SearchResult {
  kind: Kind;
  href: string;
  title: string;
  detail: string;
}

/** `run shop` → `shop`; null: the text asks for no run. */
export function runTarget(text: string): string | null {
  const [first = "", ...rest] = text.trim().split(/\s+/);
  const isRun = t("search.runWords").split(" ").includes(first.toLowerCase());
  return isRun ? rest.join(" ") : null;
}

/** The text that the server searches for. */
export function wantedOf(text: string): string {
  return (runTarget(text) || text).trim();
}

/** Results in the order in which they are shown. */
export function resultsOf(
  text: string,
  found: Found | undefined,
  { role, mayAdd }: { role: "admin" | "user"; mayAdd: boolean },
): SearchResult[] {
  const isRun = runTarget(text) !== null;
  const own = [...runsOf(found, isRun), ...actionsOf(text, mayAdd), ...pagesOf(text, role)];
  if (found === undefined) return own;
  const runs = own.filter(({ kind }) => kind === "actions");
  const pages = own.filter(({ kind }) => kind === "pages");
  const things = thingsOf(found);
  return isRun ? [...runs, ...things, ...pages] : [...pages, ...things, ...runs];
}

function runsOf(found: Found | undefined, isRun: boolean): SearchResult[] {
  const managed = (found?.projects ?? []).filter(({ permission }) => permission === "manage");
  return managed.slice(0, isRun ? 5 : 1).map(({ projectId, name, ref }) => ({
    kind: "actions",
    href: `/projects/${projectId}?deploy=1`,
    title: t("search.run", { project: visible(name) }),
    detail: visible(shortRef(ref)),
  }));
}

function actionsOf(text: string, mayAdd: boolean): SearchResult[] {
  const title = t("search.addProject");
  if (!mayAdd || !matches(title, text)) return [];
  return [{ kind: "actions", href: "/projects?add=1", title, detail: "" }];
}

function pagesOf(text: string, role: "admin" | "user"): SearchResult[] {
  const pages = [
    ...placesFor(role).map(({ href, name }) => ({ href, title: t(`shell.${name}`) })),
    { href: "/account", title: t("search.account") },
  ];
  return pages
    .filter(({ title }) => matches(title, text))
    .map(({ href, title }) => ({ kind: "pages", href, title, detail: "" }));
}

function matches(title: string, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return wanted !== "" && title.toLowerCase().includes(wanted);
}

function thingsOf(found: Found): SearchResult[] {
  return [
    ...found.projects.map(
      ({ projectId, name, ref }): SearchResult => ({
        kind: "projects",
        href: `/projects/${projectId}`,
        title: visible(name),
        detail: visible(shortRef(ref)),
      }),
    ),
    ...found.branches.map(
      ({ projectId, projectName, ref, commit }): SearchResult => ({
        kind: "branches",
        href: `/projects/${projectId}/tasks?ref=${encodeURIComponent(ref)}`,
        title: visible(shortRef(ref)),
        detail: `${visible(projectName)} ${visible(shortCommit(commit))}`,
      }),
    ),
    ...found.commits.map((task) => taskResult("commits", task, visible(shortCommit(task.commit)))),
    ...found.tasks.map((task) => taskResult("tasks", task, t("search.task", { id: String(task.taskId) }))),
    ...found.deliveries.map(
      ({ deliveryId, projectName, status, reason, reasonParts }): SearchResult => ({
        kind: "deliveries",
        href: `/deliveries/${deliveryId}`,
        title: t("search.delivery", { id: String(deliveryId) }),
        detail: `${visible(projectName)} · ${t(`state.${status}`)} · ${reasonIn(reason, reasonParts)}`,
      }),
    ),
    ...found.users.map(
      ({ userId, username }): SearchResult => ({
        kind: "users",
        href: `/users?user=${userId}`,
        title: visible(username),
        detail: "",
      }),
    ),
  ];
}

function taskResult(kind: Kind, task: Found["tasks"][number], title: string): SearchResult {
  const { taskId, projectName, state, message } = task;
  return {
    kind,
    href: `/tasks/${taskId}`,
    title,
    detail: `${visible(projectName)} · ${t(`state.${state}`)} · ${visible(message)}`,
  };
}
