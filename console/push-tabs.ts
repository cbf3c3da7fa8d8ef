/** The parts of the push pages, each with its address: `/push`, `/push/find` … */
export const pushTabs = ["monitor", "find", "channels", "playground"] as const;

export type PushTab = (typeof pushTabs)[number];

/** Addresses of earlier versions, which bookmarks and chats have. */
const earlier: Record<string, PushTab> = { connect: "playground", publish: "playground", trace: "find" };

export function pushHref(tab: PushTab, search = ""): string {
  return `/push${tab === "monitor" ? "" : `/${tab}`}${search === "" ? "" : `?${search}`}`;
}

/** `moved`: the page has another address now. Null: there is no such page. */
export function pushTabAt(text: string): { tab: PushTab; moved: boolean } | null {
  const tab = pushTabs.find((each) => each === text);
  if (tab !== undefined) return { tab, moved: false };
  const moved = Object.hasOwn(earlier, text) ? earlier[text] : undefined;
  return moved === undefined ? null : { tab: moved, moved: true };
}
