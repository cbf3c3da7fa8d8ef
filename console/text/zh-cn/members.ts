import type { members as english } from "../en/members.ts";
import type { Translated } from "../message.ts";

export const members: Translated<typeof english> = {
  remove: "移除",
  removeNamed: "移除 {name}",
  removeQuestion: "移除 {name}？",
  removeConfirm: "移除成员",
  removeFromProject: "除非分组允许，该用户将不能再查看或部署此项目。",
  removeFromGroup: "除非项目允许，该用户将不能再查看或部署此分组的项目。",
  removed: "成员已移除。",
};
