/** What a page of the manual does beyond showing its text: the menu of a phone, the search, copying, other versions. */
import { setUpCopying } from "./copy.ts";
import { setUpSearch } from "./search.ts";
import { setUpVersions } from "./versions.ts";

const menu = document.querySelector<HTMLButtonElement>(".menu");
menu?.addEventListener("click", () => {
  const isOpen = document.body.toggleAttribute("data-menu");
  menu.setAttribute("aria-expanded", String(isOpen));
});
// The current page is in view in a long list.
document.querySelector('#pages [aria-current="page"]')?.scrollIntoView({ block: "nearest" });

/** What scrolls sideways must be reachable by the keyboard, and nothing else. */
function markScrolling(): void {
  for (const element of document.querySelectorAll<HTMLElement>("pre, .scroll"))
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
}
markScrolling();
addEventListener("resize", markScrolling);

setUpCopying();
setUpSearch();
setUpVersions();
