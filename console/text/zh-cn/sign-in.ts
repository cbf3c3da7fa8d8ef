import type { signIn as english } from "../en/sign-in.ts";
import type { Translated } from "../message.ts";

export const signIn: Translated<typeof english> = {
  title: "登录",
  tagline: "git push 推送代码，实时完成部署",
  username: "用户名",
  password: "密码",
  submit: "登录",
  failed: "无法登录",
  firstStart: "首次启动时已创建用户 admin，其密码只在服务器日志中显示一次。",
};
