/** The frame around the pages. */
export const app = {
  notFound: "Not found",
  noSuchPage: "This page does not exist",
  overview: "Overview",
  noSuchPageHint: "The address may contain a typing error, or the object was deleted. Go to the {overview}.",
} as const;
