import type { words as english } from "../en/words.ts";
import type { Translated } from "../message.ts";

export const words: Translated<typeof english> = {
  close: "关闭",
  showPassword: "显示密码",
};
