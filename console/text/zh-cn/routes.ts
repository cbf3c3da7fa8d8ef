import type { routes as english } from "../en/routes.ts";
import type { Translated } from "../message.ts";

export const routes: Translated<typeof english> = {
  title: "路由",
  certificate: "证书有效期至 {until}",
  requests: "最近一天的请求",
  releaseMark: "版本 {commit} 开始",
  errorsAfter: "此版本后的错误：{count} 个请求中的 {share}",
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
  limitDomains: "仅限部分域名",
  limitOfProject:
    "管理者在路由中是否只能使用这些域名。未设置：使用其群组的域名；如果服务器允许，也可以使用任何空闲域名。",
  limitOfGroup:
    "管理者在该群组项目的路由中是否只能使用这些域名。未设置：如果服务器允许，可以使用任何空闲域名。",
  allowedDomains: "允许的域名",
  allowedDomainsHint:
    "域名，或用 *.example.com 表示其下所有域名。项目与其群组的域名一并有效。项目已有的域名保留。",
};
