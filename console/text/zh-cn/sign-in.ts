import type { signIn as english } from "../en/sign-in.ts";
import type { Translated } from "../message.ts";

export const signIn: Translated<typeof english> = {
  title: "登录",
  tagline: "git push 推送代码，实时完成部署",
  username: "用户名",
  password: "密码",
  submit: "登录",
  failed: "无法登录",
  firstStart: "首次登录？服务器首次启动的日志中显示了用户名和密码。",
};
