import type { IconName } from "./components/icon.tsx";

export type PlaceName =
  | "overview"
  | "projects"
  | "tasks"
  | "deliveries"
  | "push"
  | "users"
  | "groups"
  | "runners"
  | "tokens"
  | "audit"
  | "system";

export interface Place {
  href: string;
  /** Also the key of its text. */
  name: PlaceName & IconName;
  isForAdmins?: boolean;
  /** Second key of the shortcut that opens it: `g`, then this. */
  key?: string;
}

/** The pages of the navigation, in its groups. */
export const places: { group: "deploys" | "gateway" | "installation"; items: Place[] }[] = [
  {
    group: "deploys",
    items: [
      { href: "/", name: "overview", key: "o" },
      { href: "/projects", name: "projects", key: "p" },
      { href: "/tasks", name: "tasks", key: "t" },
      { href: "/deliveries", name: "deliveries", key: "d" },
    ],
  },
  { group: "gateway", items: [{ href: "/push", name: "push", isForAdmins: true }] },
  {
    group: "installation",
    items: [
      { href: "/users", name: "users", isForAdmins: true },
      { href: "/groups", name: "groups" },
      { href: "/runners", name: "runners", isForAdmins: true, key: "r" },
      { href: "/tokens", name: "tokens" },
      { href: "/audit", name: "audit", isForAdmins: true },
      { href: "/system", name: "system", isForAdmins: true },
    ],
  },
];

/** The pages that a user of this role may open. */
export function placesFor(role: "admin" | "user"): Place[] {
  return places.flatMap(({ items }) => items).filter(({ isForAdmins }) => !isForAdmins || role === "admin");
}

/** Whether the page at this path is for admins, and the user is none. */
export function isForbidden(path: string, role: "admin" | "user"): boolean {
  const own = path.replace(/\/+$/, "");
  const place = places
    .flatMap(({ items }) => items)
    .find(({ href }) => href === own || (href !== "/" && own.startsWith(`${href}/`)));
  return place?.isForAdmins === true && role !== "admin";
}
