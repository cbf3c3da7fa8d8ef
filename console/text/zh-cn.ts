import type { en } from "./en.ts";
import type { Translated } from "./message.ts";
import { account } from "./zh-cn/account.ts";
import { app } from "./zh-cn/app.ts";
import { signIn } from "./zh-cn/sign-in.ts";
import { words } from "./zh-cn/words.ts";

/** Simplified Chinese. */
export const zhCN: { [Area in keyof typeof en]: Translated<(typeof en)[Area]> } = {
  account,
  app,
  signIn,
  words,
};
