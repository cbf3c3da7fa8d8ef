import type { live as english } from "../en/live.ts";
import type { Translated } from "../message.ts";

export const live: Translated<typeof english> = {
  open: "实时",
  openAbout: "更改会通过推送网关立即显示。",
  connecting: "正在连接",
  connectingAbout: "实时连接建立之前，页面每隔几秒查询一次更改。",
  waiting: "轮询中，{seconds} 秒后重连",
  waitingAbout: "实时连接已中断（{reason}）。页面改为每隔几秒查询一次更改，不会遗漏任何内容。",
  silent: "没有响应",
  silentAbout: "实时连接已打开，但服务器没有响应。",
  closed: "非实时",
  closedAbout: "实时连接已关闭（{reason}）。页面改为每隔几秒查询一次更改。",
  reason_1000: "已断开",
  reason_1012: "服务器正在重启",
  reason_4000: "缺少连接码",
  reason_4001: "连接码未被接受",
  reason_4002: "不允许来自此来源的连接",
  reason_4003: "会话已结束",
  reason_4004: "管理员结束了连接",
  reason_4100: "服务器目前不接受连接",
  reason_4102: "连接过慢",
  reason_4201: "没有收到任何数据",
  reason_4301: "消息过多",
  reasonNoCode: "没有可用于连接的连接码：{problem}",
  reasonOther: "连接已中断（{code}）",
  label: "实时连接：{state}",
};
