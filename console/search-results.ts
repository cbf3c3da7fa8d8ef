import type { InferResponseType } from "hono/client";
import type { api } from "./api.ts";
import type { HomeRow } from "./home-query.ts";
import { pageActions } from "./page-actions.ts";
import { type PlacePage, pagesFor } from "./places.ts";
import { pushHref, pushTabs } from "./push-tabs.ts";
import { type Recent, recentOf } from "./recent.ts";
import { askedAction, offersOf } from "./search-actions.ts";
import type { Me } from "./session.ts";
import { reasonIn } from "./text/reason-text.ts";
import { t } from "./text/text.ts";
import { shortCommit, shortRef } from "./time-text.ts";
import { visible } from "./visible.ts";

/** Actions of the page that are listed before anything is typed. */
const shownHere = 5;

export type Found = InferResponseType<typeof api.search.$get, 200>;

type Kind =
  | "here"
  | "recent"
  | "actions"
  | "pages"
  | "projects"
  | "branches"
  | "commits"
  | "tasks"
  | "deliveries"
  | "users";

export interface SearchResult {
  kind: Kind;
  /** An address, or what is done. */
  to: string | (() => void);
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
  return (runTarget(text) || askedAction(text)?.target || text).trim();
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
    to: `/projects/${projectId}?deploy=1`,
    title: t("search.run", { project: visible(name) }),
    detail: visible(shortRef(ref)),
  }));
}

/** `roll back shop`: of the projects that can be rolled back. */
export function offeredActions(text: string, rows: readonly HomeRow[]): SearchResult[] {
  const asked = askedAction(text);
  if (asked === null) return [];
  return offersOf(asked.verb, asked.target, rows).map((offer) => ({ kind: "actions", detail: "", ...offer }));
}

function actionsOf(text: string, mayAdd: boolean): SearchResult[] {
  const title = t("search.addProject");
  if (!mayAdd || !matches(title, text)) return [];
  return [{ kind: "actions", to: "/projects/new", title, detail: "" }];
}

function pagesOf(text: string, role: "admin" | "user"): SearchResult[] {
  const tabs = pushTabs.filter((tab) => role === "admin" && tab !== "monitor");
  return [
    ...pagesFor(role).map(({ href, name }) => ({ href, title: pageTitle(name) })),
    ...tabs.map((tab) => ({ href: pushHref(tab), title: t(`push.tab_${tab}`) })),
  ]
    .filter(({ title }) => text.trim() === "" || matches(title, text))
    .map(({ href, title }) => ({ kind: "pages", to: href, title, detail: "" }));
}

function pageTitle(name: PlacePage["name"]): string {
  return name === "account" ? t("search.account") : t(`shell.${name}`);
}

/** What this page offers, and the list of keys; while nothing is typed, the first ones, what was opened last, and all pages. */
export function ownResults(text: string, onHelp: () => void, me: Me, path: string): SearchResult[] {
  const isEmpty = text.trim() === "";
  const actions = [...pageActions(), { title: t("shell.shortcuts"), run: onHelp }];
  const here = actions
    .filter(({ title }, index) =>
      isEmpty ? index < shownHere || index === actions.length - 1 : matches(title, text),
    )
    .map(({ title, run }): SearchResult => ({ kind: "here", to: run, title, detail: "" }));
  if (!isEmpty) return here;
  const recent = recentOf(me.username).filter(({ href }) => href !== path);
  return [...recent.flatMap((each) => recentResult(each, me.role)), ...here, ...pagesOf(text, me.role)];
}

function recentResult({ href, name }: Recent, role: Me["role"]): SearchResult[] {
  const [, kind, id = ""] = /^\/(projects|tasks|deliveries)\/(\d+)$/.exec(href) ?? [];
  if (kind === "projects") return [{ kind: "recent", to: href, title: visible(name), detail: "" }];
  if (kind !== undefined) {
    const title = t(kind === "tasks" ? "search.task" : "search.delivery", { id });
    return [{ kind: "recent", to: href, title, detail: visible(name) }];
  }
  const page = pagesFor(role).find((each) => each.href === href);
  return page ? [{ kind: "recent", to: href, title: pageTitle(page.name), detail: "" }] : [];
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
        to: `/projects/${projectId}`,
        title: visible(name),
        detail: visible(shortRef(ref)),
      }),
    ),
    ...found.branches.map(
      ({ projectId, projectName, ref, commit }): SearchResult => ({
        kind: "branches",
        to: `/projects/${projectId}/activity?search=${encodeURIComponent(shortRef(ref))}`,
        title: visible(shortRef(ref)),
        detail: `${visible(projectName)} ${visible(shortCommit(commit))}`,
      }),
    ),
    ...found.commits.map((task) => taskResult("commits", task, visible(shortCommit(task.commit)))),
    ...found.tasks.map((task) => taskResult("tasks", task, t("search.task", { id: String(task.taskId) }))),
    ...found.deliveries.map(
      ({ deliveryId, projectName, status, reason, reasonParts }): SearchResult => ({
        kind: "deliveries",
        to: `/deliveries/${deliveryId}`,
        title: t("search.delivery", { id: String(deliveryId) }),
        detail: `${visible(projectName)} · ${t(`state.${status}`)} · ${reasonIn(reason, reasonParts)}`,
      }),
    ),
    ...found.users.map(
      ({ userId, username }): SearchResult => ({
        kind: "users",
        to: `/users?user=${userId}`,
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
    to: `/tasks/${taskId}`,
    title,
    detail: `${visible(projectName)} · ${t(`state.${state}`)} · ${visible(message)}`,
  };
}
