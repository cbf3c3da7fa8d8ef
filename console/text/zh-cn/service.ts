import type { service as english } from "../en/service.ts";
import type { Translated } from "../message.ts";

export const service: Translated<typeof english> = {
  title: "服务",
  serving: "正在服务",
  deployed: "部署于",
  unchecked: "已部署，未经检查",
  deploying: "正在替换",
  unknown: "未知",
  never: "尚无服务版本",
  neverHint: "此项目部署 {ref}。",
  address: "地址",
  addAddress: "添加公开地址",
  onPort: "{name}，端口 {port}",
  visit: "访问",
  visitHint: "在新标签页中打开 {url}",
  since: "开始服务",
  byTask: "{when}，{task}",
  lastDeploy: "最近部署",
  disk: "磁盘",
  diskUse: "版本 {releases}，数据 {data}",
  diskUseOf: "版本 {releases}，数据 {data}，上限 {limit}",
  notes: { other: "关于此项目的 {count} 条提示" },
};
