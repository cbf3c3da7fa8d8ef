/** The live connection. */
export const live = {
  open: "Live",
  openAbout: "Changes appear at once, through the push gateway.",
  connecting: "Connecting",
  connectingAbout: "Until the live connection is open, the page requests changes every few seconds.",
  waiting: "Polling, next attempt in {seconds} s",
  waitingAbout:
    "The live connection is interrupted ({reason}). The page requests changes every few seconds instead, so nothing is missed.",
  silent: "No answer",
  silentAbout: "The live connection is open, but the server does not answer.",
  closed: "Not live",
  closedAbout:
    "The live connection is closed ({reason}). The page requests changes every few seconds instead.",
  reason_1000: "disconnected",
  reason_1012: "the server is restarting",
  reason_4000: "the code is missing",
  reason_4001: "the code was not accepted",
  reason_4002: "this origin is not allowed",
  reason_4003: "the session is over",
  reason_4004: "an admin ended the connection",
  reason_4100: "the server takes no connections now",
  reason_4102: "the connection was too slow",
  reason_4201: "nothing was received",
  reason_4301: "too many messages",
  reasonNoCode: "there is no code to connect with: {problem}",
  reasonOther: "the connection ended ({code})",
  label: "Live connection: {state}",
} as const;
