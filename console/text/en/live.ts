/** The live connection. */
export const live = {
  open: "Live",
  openAbout: "Changes appear at once, through the push gateway.",
  connecting: "Connecting",
  connectingAbout: "Until the live connection is open, the page requests changes every few seconds.",
  waiting: "Polling, next attempt in {seconds} s",
  waitingAbout:
    "The live connection is interrupted ({reason}). The page requests changes every few seconds instead, so nothing is missed.",
  closed: "Not live",
  closedAbout:
    "The live connection is closed ({reason}). The page requests changes every few seconds instead.",
  label: "Live connection: {state}",
} as const;
