import type { live as english } from "../en/live.ts";
import type { Translated } from "../message.ts";

export const live: Translated<typeof english> = {
  open: "实时",
  openAbout: "更改会通过推送网关立即显示。",
  connecting: "正在连接",
  connectingAbout: "实时连接建立之前，页面每隔几秒查询一次更改。",
  waiting: "轮询中，{seconds} 秒后重连",
  waitingAbout: "实时连接已中断（{reason}）。页面改为每隔几秒查询一次更改，不会遗漏任何内容。",
  closed: "非实时",
  closedAbout: "实时连接已关闭（{reason}）。页面改为每隔几秒查询一次更改。",
  label: "实时连接：{state}",
};
