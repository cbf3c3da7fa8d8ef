import type { hosts as english } from "../en/hosts.ts";
import type { Translated } from "../message.ts";

export const hosts: Translated<typeof english> = {
  genericName: "其他：任何可以发送 JSON 的程序",
  genericHeading: "在您的脚本中，或在裸仓库的 post-receive 钩子中",
  githubSteps:
    "打开仓库，然后 Settings → Webhooks → Add webhook。\nPayload URL：上面的地址。Content type：application/json。\nSecret：本页的密钥。\n事件：选择 “Just the push event”，或选择推送、创建分支或标签、拉取请求。\n点击 Add webhook。GitHub 会立即发送 ping，并显示在本页。",
  githubProof: "X-Hub-Signature-256 中正文的 HMAC-SHA256",
  gitlabSteps:
    "打开项目，然后 Settings → Webhooks → Add new webhook。\nURL：上面的地址。Signing token：本页的密钥（whsec_…）。如果表单没有该字段，则填入 Secret token。\nTrigger：Push events；如果在此允许，也选择 Tag push events 和 Merge request events。\n点击 Add webhook，然后 Test → Push events。投递会显示在本页。",
  gitlabProof: "webhook-signature 中的签名，或 X-Gitlab-Token 中的密钥",
  giteeSteps:
    "打开仓库，然后 管理 → WebHooks → 添加。\nURL：上面的地址。\n密码：本页的密钥。签名密钥模式也可使用同一密钥。\n选择 Push；如果在此允许，也选择 Tag Push 或 Pull Request。保存后点击测试。",
  giteeProof: "X-Gitee-Token 中的密钥或其 HMAC",
  codeupName: "阿里云 Codeup",
  codeupSteps:
    "打开代码库，然后 设置 → Webhooks → 新建。\nURL：上面的地址。Secret Token：本页的密钥。\n选择推送事件；如果在此允许，也选择标签或合并请求。保存后测试。",
  codeupProof: "X-Codeup-Token 中的密钥",
  giteaSteps:
    "打开仓库，然后 设置 → Webhooks → 添加 Webhook → Gitea（或 Forgejo）。\n目标 URL：上面的地址。方法 POST，内容类型 application/json。\n密钥：本页的密钥。\n选择推送事件或自定义事件。添加 Webhook，打开它并点击测试推送。",
  giteaProof: "X-Gitea-Signature 或 X-Forgejo-Signature 中正文的 HMAC-SHA256",
  gogsSteps:
    "打开仓库，然后 设置 → Webhooks → 添加新的 Webhook → Gogs。\n推送地址：上面的地址。数据格式：application/json。\n密钥：本页的密钥。添加 Webhook，打开它并点击测试推送。",
  gogsProof: "X-Gogs-Signature 中正文的 HMAC-SHA256",
  bitbucketSteps:
    "打开仓库，然后 Repository settings → Webhooks → Add webhook。\nURL：上面的地址。Secret：本页的密钥。\nTriggers：Repository push；如果在此允许，也选择 Pull request created、updated 和 merged。保存。\nData Center：改用 Create webhook；选择 Push，以及 Pull request opened、source branch updated、merged。点击 Test connection。",
  bitbucketProof: "X-Hub-Signature 中正文的 HMAC-SHA256",
  genericSteps:
    "向上面的地址发送 POST 请求，内容类型为 application/json。\n正文：event（push、tag 或 merge_request）、ref，以及已知的 refType、commit、message、author、paths。\n使用本页的密钥证明发送方，做法见下面的命令。",
  genericProof: "下面选择的方式",
  hostaName: "主机 A",
  hostaSteps:
    "打开仓库的 Webhook 表单。\nURL：上面的地址，JSON 正文。Secret：本页的密钥。\n事件位于 X-HostA-Event：push、create 或 pull_request。",
  hostaProof: "X-Hub-Signature-256 中正文的 HMAC-SHA256",
  hostbName: "主机 B",
  hostbSteps:
    "打开仓库的 Webhook 表单。\nURL：上面的地址，JSON 正文。Secret token：本页的密钥。\n事件位于 X-HostB-Event：Push Hook、Tag Push Hook 或 Merge Request Hook。",
  hostbProof: "X-HostB-Token 中的密钥",
  hostcName: "主机 C",
  hostcSteps:
    "打开仓库的 Webhook 表单。\nURL：上面的地址，JSON 正文。Secret token：本页的密钥。\n事件位于 X-HostC-Event。",
  hostcProof: "X-HostC-Token 中的密钥",
  hostdName: "主机 D",
  hostdSteps:
    "打开仓库的 Webhook 表单。\nURL：上面的地址，JSON 正文。Secret token：本页的密钥。\n事件位于 HostD-Event。",
  hostdProof: "X-HostD-Token 中的密钥",
};
