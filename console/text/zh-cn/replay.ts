import type { replay as english } from "../en/replay.ts";
import type { Translated } from "../message.ts";

export const replay: Translated<typeof english> = {
  one: "重放此投递",
  oneTitle: "重放投递 {id}？",
  oneForce: "签名失败，仍要重放",
  oneDone: "已重放为投递 {id}：{outcome}",
  oneFailed: "无法重放投递 {id}",
  oneText: "将重新应用当前规则，但不检查签名、去抖和事件列表。可能会启动一次部署。",
  oneTextUnjudged: "将重新应用当前规则，但不检查签名和去抖。可能会启动一次部署。",
  oneUnverified: "其签名验证失败，发送者未知。只有在您知道发送者时才重放。",
  many: "重放这些…",
  manyTitle: "重放筛选出的投递",
  manyText:
    "列表包含每个分支或标签的最新投递，每次最多一百个，并显示按当前规则的结果。会启动部署的投递已选中。",
  manyFailed: "无法重放这些投递",
  list: "预期结果",
  found: { other: "找到 {count} 个投递。" },
  would: { other: "{count} 个会启动部署。" },
  all: "全选",
  choose: "重放 {ref} 的投递 {id}",
  skip: "跳过这些",
  older: { other: "{count} 个是同一引用的较旧投递。" },
  overtakenCount: { other: "{count} 个的引用已有更新的投递或已被删除。" },
  unverified: { other: "{count} 个的签名验证失败。" },
  nothing: { other: "{count} 个没有可构建的内容。" },
  left: { other: "之后还有 {count} 个引用。" },
  cut: "只检查了最新的投递：如需更早的投递，请缩小筛选范围。",
  cancel: "取消",
  start: { other: "重放 {count} 个投递" },
  manyDone: { other: "已重放 {count} 个投递。" },
  manyPartly: { other: "{count} 个投递无法重放，第一个的原因：{problem}" },
};
