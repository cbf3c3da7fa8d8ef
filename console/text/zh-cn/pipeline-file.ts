import type { pipelineTexts } from "../../../src/reason/pipeline-texts.ts";
import type { pipelineFile as english } from "../en/pipeline-file.ts";
import type { Translated } from "../message.ts";

export const pipelineFile: Translated<typeof english> = {
  from: "流水线所在位置",
  fromProject: "在这些设置中",
  fromRepository: "来自仓库",
  path: "文件",
  pathHint: "每个任务都从自己的提交中读取它。`slipway pipeline export` 会把当前流水线输出为这样的文件。",
  notRead: "还没有部署读取过该文件。",
  read: "最近一次读取的是提交 {commit} 的 {path}。",
  task: "任务 {task}",
  runs: "{stage}：{names}",
  nothing: "无",
};

/** What is wrong with a pipeline in a file of the repository. */
export const pipelineReason: Translated<typeof pipelineTexts> = {
  file_fault: "{path} 第 {line} 行第 {column} 列：{why}",
  file_field_fault: "{path} 第 {line} 行第 {column} 列：{field} {why}",
  file_empty: "文件为空；请至少写出 build、deploy 或 start",
  file_no_map: "文件必须是包含 build、deploy 或 start 的映射",
  file_path: "必须是仓库内的文件，例如 .slipway.yaml",
  file_port: "必须是 $PORT 或 none；固定端口在项目中设置，不在文件中",
  file_host: "不能写在文件中：在沙箱之外运行的内容由管理员在项目中设置",
  file_network: "不能写在文件中：哪些部分没有网络在项目中设置",
  file_setting: "不能写在文件中：它是项目的设置",
  file_quotes: "必须是文本；请加上引号",
  file_port_of: "中没有服务 {name}，而项目为它设置了固定端口；请修改文件或项目",
  file_network_of: "中没有 {title}，而项目规定它没有网络；请修改文件或项目",
  file_missing: "该提交没有文件 {path}，而项目的流水线写在其中。",
  file_not_regular: "{path} 不是仓库中的普通文件，而是链接、文件夹或子模块。",
  file_large: "{path} 超过 {bytes} 字节。",
  file_faults: "{first}（另有 {count} 处；日志中列出了全部）",
  file_refused: "服务器拒绝了 {path} 的流水线。",
  file_not_asked: "项目的流水线已不在仓库中；请重新运行该任务。",
  file_needs_container: "指定了容器镜像，而此运行器不运行容器；下一个任务会等待能运行容器的运行器",
  file_limit: "最多为 {limit}，这是项目的限制",
  file_in_repository: "不能在这里更改：由仓库中的文件 {path} 规定",
  file_only: "仅用于来自仓库的流水线",
  file_host_steps: "不能为 repository，因为有步骤在沙箱之外运行：{names}",
  file_expanded: "别名展开之后，流水线超过 {limit} 个字符",
  yaml_invalid: "这不是可读的 YAML：{why}",
  yaml_repeated: "该名称出现了两次；请合并这两部分",
  yaml_documents: "这里开始了第二个文档；请删除 ---",
  yaml_tab: "缩进使用了制表符；请使用空格",
};
