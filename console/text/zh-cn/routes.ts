import type { routes as english } from "../en/routes.ts";
import type { Translated } from "../message.ts";

export const routes: Translated<typeof english> = {
  title: "路由",
  certificate: "证书有效期至 {until}",
  requests: "最近一天的请求",
  releaseMark: "发布 {commit} 开始",
  errorsAfter: "此次发布后的错误：{count} 个请求中的 {share}",
  kind_success: "成功 {count}",
  kind_redirect: "重定向 {count}",
  kind_clientError: "客户端错误（4xx）{count}",
  kind_serverError: "服务器错误（5xx）{count}",
  perStep: "请求",
  countOfDay: "{count}，按五分钟",
  errors: "服务器错误",
  p95: "响应时间",
  times: "中位数 {p50}，95 % 在 {p95} 以内",
  ms: "{ms} 毫秒",
};
