import type { execution as english } from "../en/execution.ts";
import type { Translated } from "../message.ts";

export const execution: Translated<typeof english> = {
  about:
    "设置镜像后，脚本会在装有 podman 或 docker 的运行器上的容器中运行。工作区和缓存目录会被挂载，容器随脚本结束。",
  notSaved: "无法保存执行环境设置",
  image: "容器镜像",
  imageHint: "用于所有步骤。留空：不使用容器，除非某个步骤设置了镜像。",
  imageOf: "{stage} 的镜像",
  imageOfProject: "项目的镜像",
  offline: "无网络",
  offlineOf: "{stage} 无网络",
  isolation: "运行于",
  isolationHint: "没有合适的运行器时，任务会等待。",
  isolationNone: "任何隔离级别的运行器",
  isolationSandbox: "在沙箱或容器中运行脚本的运行器",
  isolationContainer: "所有脚本都在容器中运行的运行器",
  cache: "缓存目录",
  cacheHint: "为下一个任务保留的工作区或主目录中的目录，例如 ~/.npm。每输入一个按回车。",
  memory: "内存",
  cpus: "处理器（仅容器）",
  processes: "进程数",
  disk: "版本和数据的磁盘空间",
  nice: "优先级 nice 值（0 到 19）",
  noLimit: "不限",
};
