import type { tryIt as english } from "../en/try-it.ts";
import type { Translated } from "../message.ts";

export const tryIt: Translated<typeof english> = {
  noProjects: "还没有与您共享的项目",
  noProjectsHint: "请管理员将您添加到项目或群组，之后会显示在这里。",
  title: "一分钟内观看一次部署",
  about:
    "“试用示例”会在数据目录中创建一个带有小型仓库的示例项目，并像 Git 托管平台一样向其 Webhook 发送一次已签名的推送。您可以实时观看构建和部署。删除该项目后不会留下任何内容。",
  start: "试用示例",
  failed: "无法创建示例项目",
  onlyPush: "我只需要推送",
  onlyPushAbout: "向浏览器和应用推送消息不需要项目。推送页面用此服务器的地址说明如何连接和发布。",
  openPush: "打开推送页面",
  next: "接下来可以尝试",
  why: "查看为什么会部署",
  whyHint: "投递页面列出此次推送通过的每条规则。",
  whySubmit: "打开投递",
  break: "破坏它并观看回滚",
  breakHint: "一次去掉页面标题的推送会使健康检查失败，之前的版本将自动恢复。",
  breakSubmit: "推送有错误的提交",
  fix: "修复并再次部署",
  fixHint: "健康检查没有找到标题，之前的版本正在服务。一次带有标题的推送会通过检查。",
  fixSubmit: "推送已修复的提交",
  fixed: "已破坏、回滚并修复",
  fixedHint: "任务列表中有全部过程：失败的推送，以及正在服务的推送。",
  breakFailed: "无法推送到示例项目",
  own: "部署自己的仓库",
  ownHint: "输入仓库地址，系统会建议各阶段的脚本。不再需要示例时，可在其设置中删除。",
  addOwn: "添加自己的项目",
};
