import type { tasks as english } from "../en/tasks.ts";
import type { Translated } from "../message.ts";

export const tasks: Translated<typeof english> = {
  project: "项目",
  projectHint: "任何项目",
  next: "排在队列首位",
  place: "队列中第 {place} 位",
  sentBy: "由 {name} 发送",
  pushedBy: "由 {name} 推送",
  pushedByTo: "由 {name} 推送到 {ref}",
  polled: "通过查询仓库发现，提交者 {name}",
  promotedBy: "由 {name} 从 {from} 提升",
  startedBy: "由 {name} 启动",
  startedByTo: "由 {name} 为 {ref} 启动",
  unknownUser: "未知用户",
  stage: "{stage}：{state}",
  nothingRan: "未执行任何脚本",
  skip_no_script: "无脚本",
  skip_not_reached: "未执行到",
  skip_left_out: "本次不执行",
};
