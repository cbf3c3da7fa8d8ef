import type { filter as english } from "../en/filter.ts";
import type { Translated } from "../message.ts";

export const filter: Translated<typeof english> = {
  text: "筛选条件",
  fields: "筛选",
  fieldsActive: { other: "筛选（已启用 {count} 项）" },
  clear: "清除筛选",
  unknownWord: "没有名为 {word} 的筛选条件。可用条件：{known}。",
  unknownValue: "{word} 不能是 {value}。可用值：{known}。",
  noTime: "{word}：{value} 不是日期，例如 2026-01-31 或 2026-01-31T18:00。",
  unknownParameters: "地址中有此列表不认识的参数，已忽略：{names}。可用参数：{known}。",
  noProject: "没有名为 {name} 的项目。",
  twice: "{word} 出现了两次。",
  twoBare: "{value} 是第二个 {word}。请在前面写上筛选条件，或将含空格的文字放在引号中。",
};
