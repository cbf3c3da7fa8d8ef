import type { members as english } from "../en/members.ts";
import type { Translated } from "../message.ts";

export const members: Translated<typeof english> = {
  remove: "移除",
  removeNamed: "移除 {name}",
  removeQuestion: "移除 {name}？",
  removeConfirm: "移除成员",
  removeFromProject: "除非群组允许，该用户将不能再查看或部署此项目。",
  removeFromGroup: "除非项目允许，该用户将不能再查看或部署此群组的项目。",
  removed: "成员已移除。",
  saved: "权限已保存。",
  saveFailed: "无法保存权限",
  removeFailed: "无法移除成员",
  addFailed: "无法添加成员",
  noneOfProject: "只有管理员可以看到此项目。请添加需要访问的用户。",
  noneOfGroup: "只有管理员可以看到此群组。请添加需要访问的用户。",
  ofProject: "项目成员",
  ofGroup: "群组成员",
  permissionOf: "{name} 的权限",
  user: "用户",
  username: "用户名",
  permission: "权限",
  view: "查看",
  manage: "管理",
  add: "添加成员",
};
