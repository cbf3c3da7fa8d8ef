import type { replay as english } from "../en/replay.ts";
import type { Translated } from "../message.ts";

export const replay: Translated<typeof english> = {
  one: "重放此投递",
  oneTitle: "重放投递 {id}？",
  oneForce: "签名失败，仍要重放",
  oneDone: "已重放为投递 {id}：{outcome}",
  oneFailed: "无法重放投递 {id}",
  oneText: "将重新应用当前规则，但不检查签名、防抖和事件列表。可能会启动一次部署。",
  oneTextUnjudged: "将重新应用当前规则，但不检查签名和防抖。可能会启动一次部署。",
  oneOlder: "{serving} 在此次投递到达之后部署，目前正在服务。重放将部署 {commit}，它可能更旧。",
  oneUnverified: "其签名验证失败，发送者未知。只有在您知道发送者时才重放。",
};
