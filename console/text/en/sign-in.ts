export const signIn = {
  title: "Sign in",
  tagline: "git push in, live deploys out",
  username: "Username",
  password: "Password",
  submit: "Sign in",
  failed: "Couldn't sign in",
  firstStart: "First sign-in? The log of the server's first start shows the username and the password.",
} as const;
