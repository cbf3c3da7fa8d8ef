import type { signIn as english } from "../en/sign-in.ts";
import type { Translated } from "../message.ts";

export const signIn: Translated<typeof english> = {
  title: "登录",
  tagline: "git push 推送代码，实时完成部署",
  username: "用户名",
  password: "密码",
  submit: "登录",
  with: "使用 {title} 登录",
  orPassword: "或使用密码",
  orAsAdmin: "管理员也可使用密码",
  again: "返回登录页",
  linkHint:
    "{title} 上的账号 {login} 尚未关联 Slipway 用户。请输入一次您的用户密码；之后只需用 {title} 登录。",
  link: "关联并登录",
  linkFailed: "无法关联账号",
  failed: "无法登录",
  firstStart: "首次登录？服务器首次启动的日志中显示了用户名和密码。",
};
