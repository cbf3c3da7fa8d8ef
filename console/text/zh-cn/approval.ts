import type { approval as english } from "../en/approval.ts";
import type { Translated } from "../message.ts";

export const approval: Translated<typeof english> = {
  approve: "批准",
  approveTitle: "部署 {commit}？",
  approveConfirm: "批准部署",
  approveText: "将使用构建时项目的脚本、环境变量和镜像来部署已构建的文件。之后对项目的修改不会生效。",
  approved: "任务 {id} 已批准。",
  comment: "备注（可选）",
  notByPusher: "推送代码或启动此任务的人不能批准它。",
  reason: "原因（显示在任务中）",
  reject: "拒绝",
  rejectTitle: "拒绝任务 {id}？",
  rejectConfirm: "拒绝部署",
  rejectText: "任务将被取消，不会部署任何内容。",
  rejected: "任务 {id} 已拒绝。",
  waiting: { other: "{count} 个部署等待批准：" },
  waitingTask: "{project} 任务 {id}",
  waitingLabel: "等待批准的部署",
  requested: "{project} 的任务 {id} 等待您的批准。",
};
