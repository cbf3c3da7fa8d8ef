import type { words as english } from "../en/words.ts";
import type { Translated } from "../message.ts";

export const words: Translated<typeof english> = {
  actions: "操作",
  close: "关闭",
  loadFailed: "无法加载此内容",
  loading: "正在加载",
  requestFailed: "请求失败",
  role_admin: "管理员",
  role_user: "普通用户",
  serverAnswered: "服务器返回了 {status}。",
  serverUnreachable: "服务器没有响应。请检查网络连接后重试。",
  showPassword: "显示密码",
  tryAgain: "重试",
};
