/** Words that several pages use. */
export const words = {
  actions: "Actions",
  close: "Close",
  loadFailed: "Couldn't load this content",
  loading: "Loading",
  requestFailed: "The request failed",
  role_admin: "admin",
  role_user: "user",
  serverAnswered: "The server answered {status}.",
  serverUnreachable: "The server does not answer. Check the connection, then try again.",
  showPassword: "Show the password",
  tryAgain: "Try again",
} as const;
