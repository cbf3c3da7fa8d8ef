/** The frame around the pages. */
export const app = {
  notFound: "Not found",
  noSuchPage: "This page does not exist",
  overview: "Overview",
  noSuchPageHint: "The address may contain a typing error, or the object was deleted. Go to the {overview}.",
  pageFailed: "This page failed",
  pageFailedHint: "Select “Try again” to reload it. If it fails again, the message below shows the cause.",
  pageFailedTitle: "Couldn't show the page",
  leaveTitle: "Leave without saving?",
  leaveText: "Your changes on this page are not saved. They are lost if you leave.",
  leaveStay: "Stay on this page",
  leaveGo: "Leave without saving",
  adminsOnly: "Admins only",
  adminsOnlyTitle: "You have no permission for this page",
  adminsOnlyHint: "Only admins can open it. Ask an admin if you need access, or go to the {overview}.",
} as const;
