import { account } from "./en/account.ts";
import { app } from "./en/app.ts";
import { approval } from "./en/approval.ts";
import { audit } from "./en/audit.ts";
import { deliveries } from "./en/deliveries.ts";
import { gateway } from "./en/gateway.ts";
import { groups } from "./en/groups.ts";
import { live } from "./en/live.ts";
import { push } from "./en/push.ts";
import { runners } from "./en/runners.ts";
import { signIn } from "./en/sign-in.ts";
import { state } from "./en/state.ts";
import { time } from "./en/time.ts";
import { tokens } from "./en/tokens.ts";
import { trace } from "./en/trace.ts";
import { tryIt } from "./en/try-it.ts";
import { users } from "./en/users.ts";
import { warning } from "./en/warning.ts";
import { words } from "./en/words.ts";

/** English: the reference for the keys of all languages. */
export const en = {
  account,
  app,
  approval,
  audit,
  deliveries,
  gateway,
  groups,
  live,
  push,
  runners,
  signIn,
  state,
  time,
  tokens,
  trace,
  tryIt,
  users,
  warning,
  words,
};
