import type { form as english } from "../en/form.ts";
import type { Translated } from "../message.ts";

export const form: Translated<typeof english> = {
  save: "保存",
  discard: "放弃更改",
  cancel: "取消",
  undo: "撤销",
  saved: "已保存。",
  undone: "更改已撤销。",
  unsavedChanges: "未保存的更改",
  unsaved: { other: "{count} 项未保存的更改" },
  entry: "第 {number} 项的{field}",
  conflict: "其他用户已先保存",
  conflictHint: "您的更改尚未保存。",
  theirValue: "“{field}”现在是",
  takeTheirs: "使用已保存的值",
  overwrite: "用我的更改覆盖",
  empty: "空",
  missing: "请填写此字段。",
  short: { other: "请至少写 {count} 个字符。" },
  actionFailed: "“{action}”失败",
  addNamed: "添加“{name}”",
  nothingFound: "没有匹配的名称",
  typeToConfirm: "输入 {text} 以确认",
  deployQuestion: "立即部署 {project}？",
  deployConfirm: "开始部署",
  deployHint: "将构建并部署 {ref} 的当前提交。",
};
