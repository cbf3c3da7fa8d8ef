import type { gateway as english } from "../en/gateway.ts";
import type { Translated } from "../message.ts";

export const gateway: Translated<typeof english> = {
  deliveriesInDay: { other: "最近 24 小时有 {count} 次投递" },
  dayAgo: "24 小时前",
  now: "现在",
  statusCount: "{state} {count}",
  hour: "{from}–{to}：{parts}",
  nothing: "无",
  connections: "连接数",
  messagesPerSecond: "每秒消息数",
};
