import type { groups as english } from "../en/groups.ts";
import type { Translated } from "../message.ts";

export const groups: Translated<typeof english> = {
  title: "群组",
  about: "相关项目的集合。成员的权限对群组中的每个项目都有效。",
  empty: "还没有群组",
  emptyAdmin: "当多个项目拥有相同成员时，可以添加群组。",
  emptyUser: "您不是任何群组的成员。管理员可以将您加入群组。",
  deleted: "群组 {name} 已删除。",
  deleteFailed: "无法删除群组 {name}",
  projects: "查看项目",
  deleteOne: "删除 {name}",
  deleteTitle: "删除群组 {name}？",
  deleteConfirm: "删除群组",
  deleteText: "群组中的项目会保留，但不再属于任何群组；通过群组获得的权限会失效。",
  labels: "标签",
  labelsTitle: "{name} 的项目可以请求的标签",
  labelsSaved: "{name} 的标签已保存。",
  labelsFailed: "无法保存 {name} 的标签",
  labelsSave: "保存标签",
  anyLabel: "任意标签",
  theseLabels: "指定标签",
  theseLabelsHint: "留空：该群组的项目不能请求任何标签。",
  add: "添加群组",
  added: "群组 {name} 已添加。",
  addFailed: "无法添加群组",
  addSubmit: "添加群组",
};
