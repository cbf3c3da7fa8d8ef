import { account } from "./en/account.ts";
import { app } from "./en/app.ts";
import { signIn } from "./en/sign-in.ts";
import { words } from "./en/words.ts";

/** English: the reference for the keys of all languages. */
export const en = { account, app, signIn, words };
