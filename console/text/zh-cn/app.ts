import type { app as english } from "../en/app.ts";
import type { Translated } from "../message.ts";

export const app: Translated<typeof english> = {
  notFound: "未找到",
  noSuchPage: "此页面不存在",
  home: "首页",
  noSuchPageHint: "地址可能有误，或者对象已被删除。前往{home}。",
  pageFailed: "此页面出错",
  pageFailedHint: "请选择“重试”重新加载。如果再次出错，下方的信息会说明原因。",
  pageFailedTitle: "无法显示页面",
  pageNotLoaded: "页面尚未加载",
  pageNotLoadedHint: "无法连接服务器，或者服务器已更新到新版本。",
  stillUnreachable: "无法连接服务器。请检查网络后重试。",
  leaveTitle: "不保存就离开吗？",
  leaveText: "此页面上的更改尚未保存，离开后将丢失。",
  leaveStay: "留在此页",
  leaveGo: "不保存并离开",
  adminsOnly: "仅限管理员",
  adminsOnlyTitle: "您没有访问此页面的权限",
  adminsOnlyHint: "只有管理员可以打开此页面。如需访问，请联系管理员，或前往{home}。",
};
