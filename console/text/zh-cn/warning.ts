import type { warning as english } from "../en/warning.ts";
import type { Translated } from "../message.ts";

export const warning: Translated<typeof english> = {
  unreachable: "无法连接服务器。数据截至 {time}。",
  unsignedLabel: "没有密钥的 Webhook",
  unsigned: {
    other: "{count} 个 Webhook 没有设置密钥：任何知道其地址的人都可以启动构建。请为 {projects} 设置密钥。",
  },
  isolationLabel: "脚本未隔离",
  isolation:
    "{title}（{runners}）：管理项目但不是管理员的用户可以读取运行器用户能读取的一切内容。在本地运行器上，这包括本服务器的密钥和数据库。请参阅{manual}和{link}。",
  isolationShort: "{runners} 上的{title}。{link}",
  meaning: "了解影响",
  hide: "隐藏此提示",
  manual: "使用手册",
  runners: "运行器",
};
