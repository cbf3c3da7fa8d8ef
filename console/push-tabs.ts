/** The parts of the push pages, each with its address: `/push`, `/push/connect` … */
export const pushTabs = ["overview", "connect", "publish", "channels", "trace"] as const;

export type PushTab = (typeof pushTabs)[number];

export function isPushTab(text: string): text is PushTab {
  return pushTabs.some((tab) => tab === text);
}
