/** The address of the manual's first page. */
export const root = new URL(document.documentElement.dataset.root ?? "./", location.href);
