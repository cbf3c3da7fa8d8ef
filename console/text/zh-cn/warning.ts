import type { warning as english } from "../en/warning.ts";
import type { Translated } from "../message.ts";

export const warning: Translated<typeof english> = {
  unreachable: "无法连接服务器。数据截至 {time}。",
  isolationLabel: "脚本未隔离",
  isolation:
    "{title}（{runners}）：管理项目但不是管理员的用户可以读取运行器用户能读取的一切内容。在本地运行器上，这包括本服务器的密匙和数据库。请参阅{manual}和{link}。",
  manual: "使用手册",
  runners: "运行器",
};
