/** Tables and their pages. */
export const list = {
  none: "none",
  range: "{from}–{to} of {total}",
  page: "Page {number}",
  first: "First page",
  previous: "Previous page",
  next: "Next page",
  last: "Last page",
} as const;
