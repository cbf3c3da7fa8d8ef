import type { search as english } from "../en/search.ts";
import type { Translated } from "../message.ts";

export const search: Translated<typeof english> = {
  title: "搜索",
  open: "搜索",
  placeholder: "项目、分支、提交、任务、用户，或“部署 shop”",
  results: "搜索结果",
  hint: "输入名称、提交的前几位，或任务、投递的编号。输入“部署”和项目名称可开始部署。",
  nothing: "未找到“{text}”",
  found: { other: "{count} 个结果" },
  kind_actions: "操作",
  kind_pages: "页面",
  kind_projects: "项目",
  kind_branches: "分支和标签",
  kind_commits: "提交",
  kind_tasks: "任务",
  kind_deliveries: "投递",
  kind_users: "用户",
  run: "部署 {project}",
  addProject: "添加项目",
  account: "我的账户：语言、Git 平台、密码、会话",
  runWords: "部署 运行 run deploy start",
  task: "任务 {id}",
  delivery: "投递 {id}",
};
