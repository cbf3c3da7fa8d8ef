export const signIn = {
  title: "Sign in",
  tagline: "git push in, live deploys out",
  username: "Username",
  password: "Password",
  submit: "Sign in",
  failed: "Couldn't sign in",
  firstStart: "The first start created the user admin. The server's log shows its password once.",
} as const;
