import type { state as english } from "../en/state.ts";
import type { Translated } from "../message.ts";

export const state: Translated<typeof english> = {
  queued: "排队中",
  dispatched: "已分派",
  running: "运行中",
  canceling: "正在取消",
  waiting: "等待中",
  success: "成功",
  failed: "失败",
  canceled: "已取消",
  timeout: "超时",
  lost: "失联",
  pending: "未开始",
  skipped: "已跳过",
  accepted: "已接受",
  merged: "已合并",
  ignored: "已忽略",
  rejected: "已拒绝",
  starting: "正在启动",
  serving: "正在服务",
  unhealthy: "不健康",
  restarting: "正在重启",
  down: "已停机",
  stopped: "已停止",
  unknown: "未知",
};
