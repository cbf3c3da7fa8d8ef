/** Words that several pages use. */
export const words = {
  close: "Close",
  showPassword: "Show the password",
} as const;
