import type { list as english } from "../en/list.ts";
import type { Translated } from "../message.ts";

export const list: Translated<typeof english> = {
  none: "无",
  range: "第 {from}–{to} 条，共 {total} 条",
  page: "第 {number} 页",
  first: "第一页",
  previous: "上一页",
  next: "下一页",
  last: "最后一页",
};
