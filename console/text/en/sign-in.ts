export const signIn = {
  title: "Sign in",
  tagline: "git push in, live deploys out",
  username: "Username",
  password: "Password",
  submit: "Sign in",
  with: "Sign in with {title}",
  orPassword: "or with a password",
  orAsAdmin: "or, for administrators, with a password",
  again: "Back to the sign-in page",
  linkHint:
    "No user of Slipway is linked to the account {login} at {title} yet. Enter the password of your user once; from then on you sign in with {title} alone.",
  link: "Link and sign in",
  linkFailed: "Couldn't link the account",
  failed: "Couldn't sign in",
  firstStart: "First sign-in? The log of the server's first start shows the username and the password.",
} as const;
