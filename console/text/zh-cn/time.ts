import type { time as english } from "../en/time.ts";
import type { Translated } from "../message.ts";

export const time: Translated<typeof english> = {
  justNow: "刚刚",
  inFuture: "{duration}后",
};
