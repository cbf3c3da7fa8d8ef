import type { audit as english } from "../en/audit.ts";
import type { Translated } from "../message.ts";

export const audit: Translated<typeof english> = {
  title: "审计日志",
  about: "谁在何时、何地更改了什么。日志中不含任何密钥。",
  who: "用户",
  anybody: "任意用户",
  action: "操作",
  empty: "没有符合筛选条件的记录",
  emptyHint: "清除筛选即可查看所有记录。",
  when: "时间",
  system: "系统",
  what: "对象",
  detail: "详情",
  address: "地址",
  difference: "{field}：{from} → {to}",
  fact: "{name}：{value}",
  changedFields: "已更改：{fields}",
  yes: "是",
  no: "否",
  nothing: "空",
};
