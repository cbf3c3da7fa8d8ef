import type { app as english } from "../en/app.ts";
import type { Translated } from "../message.ts";

export const app: Translated<typeof english> = {
  notFound: "未找到",
  noSuchPage: "此页面不存在",
  overview: "概览",
  noSuchPageHint: "地址可能有误，或者对象已被删除。前往{overview}。",
};
