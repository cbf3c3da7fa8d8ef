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
  addOwn: "添加自己的项目",
};
