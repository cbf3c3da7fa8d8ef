import type { IconName } from "./components/icon.tsx";

type PageName =
  | "home"
  | "activity"
  | "push"
  | "users"
  | "groups"
  | "runners"
  | "system"
  | "audit"
  | "account"
  | "tokens";

/** A page that the navigation leads to. The name is also the key of its text. */
export interface PlacePage {
  href: string;
  name: PageName;
  /** Absent: for everybody. */
  role?: "admin" | "user";
  /** Second key of the shortcut that opens it: `g`, then this. */
  key?: string;
  /** Others that open it too, because they opened a page that it replaced. */
  moreKeys?: string[];
}

/** An entry of the navigation: a page, or several beside each other. */
export interface Place {
  name: (PageName | "people") & IconName;
  pages: [PlacePage, ...PlacePage[]];
}

const admin = { role: "admin" } as const;

/** The entries of the navigation in their groups, some of which have a title. */
const places: { group: "admin" | null; items: Place[] }[] = [
  {
    group: null,
    items: [
      { name: "home", pages: [{ href: "/", name: "home", key: "h" }] },
      {
        name: "activity",
        pages: [{ href: "/activity", name: "activity", key: "a", moreKeys: ["d", "t"] }],
      },
      { name: "push", pages: [{ href: "/push", name: "push", key: "p", ...admin }] },
    ],
  },
  {
    group: "admin",
    items: [
      {
        name: "people",
        pages: [
          { href: "/users", name: "users", ...admin },
          { href: "/groups", name: "groups", ...admin },
        ],
      },
      { name: "runners", pages: [{ href: "/runners", name: "runners", key: "r", ...admin }] },
      { name: "system", pages: [{ href: "/system", name: "system", ...admin }] },
      { name: "audit", pages: [{ href: "/audit", name: "audit", ...admin }] },
    ],
  },
  {
    group: null,
    items: [
      {
        name: "account",
        pages: [
          { href: "/account", name: "account" },
          { href: "/tokens", name: "tokens" },
          // Admins have them beside the users.
          { href: "/groups", name: "groups", role: "user" },
        ],
      },
    ],
  },
];

export type Role = "admin" | "user";

/** The navigation of a user of this role, without empty groups. */
export function navigationFor(role: Role): typeof places {
  const shown = places.map(({ group, items }) => ({
    group,
    items: items.flatMap(({ name, pages }): Place[] => {
      const [first, ...more] = pages.filter((page) => page.role === undefined || page.role === role);
      return first === undefined ? [] : [{ name, pages: [first, ...more] }];
    }),
  }));
  return shown.filter(({ items }) => items.length > 0);
}

/** The entry of the navigation that leads to this path. */
export function placeAt(path: string, role: Role): Place | undefined {
  const all = navigationFor(role).flatMap(({ items }) => items);
  return all.find(({ pages }) => pages.some((page) => isAt(path, page)));
}

export function isAt(path: string, { href }: Pick<PlacePage, "href">): boolean {
  const own = path.replace(/\/+$/, "") || "/";
  return own === href || (href !== "/" && own.startsWith(`${href}/`));
}

/** The pages that a user of this role may open. */
export function pagesFor(role: Role): PlacePage[] {
  return navigationFor(role).flatMap(({ items }) => items.flatMap(({ pages }) => pages));
}

/** Whether the page at this path is for admins, and the user is none. */
export function isForbidden(path: string, role: Role): boolean {
  return placeAt(path, role) === undefined && placeAt(path, "admin") !== undefined;
}
