import type { gateway as english } from "../en/gateway.ts";
import type { Translated } from "../message.ts";

export const gateway: Translated<typeof english> = {
  hour: "最近一小时",
  day: "最近一天",
  period: "时间范围",
  connections: "连接数",
  messages: "消息数",
  connectionFigures: "当前 {now}，最多 {most}",
  mostConnections: "最多 {most}",
  messageFigures: { other: "{count} 条消息" },
  noFigures: "一分钟后显示首批数据。",
  away: "网关已超过一分钟没有响应。",
  gap: "空白处：服务器未运行，或网关没有响应。",
  sum: { other: "{count} 个网关的合计。" },
};
