import type { warningTexts } from "../../../src/reason/warning-texts.ts";
import type { Translated } from "../message.ts";

export const warningReason: Translated<typeof warningTexts> = {
  warn_no_secret: "Webhook 已启用但没有密钥：任何知道地址的人都可以启动构建。",
  warn_no_base_url: "未设置 server.baseUrl：地址为推测所得，只有本机可以访问。",
  warn_tag_filter: "已设置标签筛选，但允许的事件中没有标签。",
  warn_branch_filter: "已设置分支筛选，但允许的事件中既没有推送，也没有合并请求。",
  warn_any_branch: "分支筛选为空：推送任何分支都会部署。请设为 {branch}，或关闭 deploy 和 start。",
  warn_any_branch_unnamed: "分支筛选为空：推送任何分支都会部署。请设为要部署的分支，或关闭 deploy 和 start。",
  warn_approval_isolation:
    "批准无法保护此项目免受其他脚本的影响：在 {runners} 上，脚本不在沙箱中运行，其他项目的脚本可以在构建与部署之间改动它的工作区。请让它们能够使用沙箱（“运行器”页面会说明缺少什么），或在那里设置 runner.image，或让项目要求 sandbox 隔离。",
  warn_background:
    "服务 {name} 是 1.0 版本的启动脚本，会在后台留下进程：只要其中一个进程存活，服务就算运行中。请把每个进程写成单独的服务并在前台运行：命令不带 &、nohup 和日志文件。",
  warn_start_port:
    "start 的某个步骤使用了 $PORT，而只有服务才有此变量。请把它启动的程序写成在前台运行的服务，或设置变量 PORT。",
  warn_disk:
    "此项目的版本（{releases}）和数据（{data}）已占其上限 {limit} 的 {percent}%；超过上限的部署会失败。请减少保留的版本（runner.releases）、清理数据目录，或提高上限（项目的 limits.diskMb、运行器的 runner.projectQuota）。",
  warn_not_sealed:
    "与 2.0 之前的版本一样，部署和启动可以写入此项目的版本。请将它们写入的文件夹列为 data 或 scratch，然后封存版本。",
  warn_new_project:
    "它的 Webhook 的分支筛选为空：启用 Webhook 后，推送任何分支都会启动任务。如果只有 {branch} 应启动任务，请把筛选设为它。",
  warn_merge_requests:
    "每个合并请求一打开就会部署。除非确实需要，请为合并请求选择“运行其他阶段”并只保留 build。",
  warn_debounce:
    "防抖窗口覆盖整个项目：{seconds} 秒内推送的多个分支只构建最后一个。请把“防抖范围”设为“同一分支或标签的推送”。",
  warn_twice: "Git 平台同时发送 push 和 create：新分支或标签会通知两次、构建一次。请在平台上关闭 create。",
  warn_other_repository: "最近的一次投递来自 {other}，而不是项目的仓库 {repository}。",
  warn_other_repository_enforce:
    "最近的一次投递来自 {other}，而不是项目的仓库 {repository}。把“来自其他仓库的投递”设为“忽略”可忽略此类投递。",
  warn_not_polled: "无法轮询仓库：{why}",
  warn_status:
    "{other} 以相同的 context {context} 报告同一仓库的提交状态：两者互相覆盖，成功会掩盖失败。请为每个项目设置各自的“提交状态的 context”。",
  warn_status_hidden:
    "另一个项目以相同的 context {context} 报告同一仓库的提交状态：两者互相覆盖，成功会掩盖失败。请为每个项目设置各自的“提交状态的 context”。",
  warn_group_secrets_all:
    "构建不需要审批，但会获得群组 {group} 的这些密钥：{names}。请在群组的页面上为每个密钥选择：所有阶段都能获得，还是只有 deploy 和 start。",
  warn_secrets_all:
    "构建不需要审批，但会获得这些密钥：{names}。请为每个密钥选择：所有阶段都能获得，还是只有 deploy 和 start。",
};
