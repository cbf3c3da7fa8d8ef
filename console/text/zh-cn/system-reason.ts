import type { systemTexts } from "../../../src/reason/system-texts.ts";
import type { Translated } from "../message.ts";

export const systemReason: Translated<typeof systemTexts> = {
  system_connections: "push.max-connections 已降为 {limit}：本进程可打开的文件数不允许更多（ulimit -n）。",
  system_deploy_key:
    "未设置 push.deploy-key：任何获准调用 /feign 并发送 X-Slipway-Service: deploy 的程序都可以使用控制台的频道和用户。请在此设置 push.deploy-key，并将部署服务的 deploy.push.apiKey 设为相同的值；没有部署服务时，请设为任意保密的值。",
  system_workers:
    "push.workers 对 `start` 无效，因为它只有一个进程：请改为运行 `slipway push` 和 `slipway deploy`。",
  system_vanished_late:
    "此操作系统不允许 Slipway 限制未确认的字节数：事件流未关闭就消失的用户会在数分钟内仍显示为在线。",
  system_key_file: "其他用户可以读取密钥文件 {file}；请运行 chmod 600 {file}",
  system_no_api_keys:
    "push.api-keys 为空，而服务器监听的地址不限于本机：只有 push.internal-networks 中的网络可以调用 /feign。",
  system_no_proxies:
    "已设置 server.baseUrl，但 server.trustedProxies 为空：经过代理时，所有客户端都显示为代理的地址，登录和连接的限制会把它们算作同一个客户端。请写明代理，例如 server.trustedProxies: [127.0.0.1/32]。",
  system_not_isolated:
    "{runners} 上的脚本未隔离：管理项目但不是管理员的用户可以读取运行器用户能读取的内容（docs/security.md）。",
  system_no_base_url: "未设置 server.baseUrl：只有本机可以访问 Webhook 的地址。",
  system_replicas:
    "Kafka 主题 {topic} 有 {count} 个副本，而 {brokers} 个 broker 允许 {wanted} 个：失去一个 broker 可能使推送网关停止或丢失消息。请增加副本：{commands}",
};
