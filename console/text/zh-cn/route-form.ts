import type { routeForm as english } from "../en/route-form.ts";
import type { Translated } from "../message.ts";

export const routeForm: Translated<typeof english> = {
  add: "为 {name} 添加路由",
  remove: "移除路由 {title}",
  cardOf: "路由 {title}",
  domains: "域名",
  domainsOf: "路由 {title} 的域名",
  path: "路径",
  pathOf: "路由 {title} 的路径",
  tls: "证书",
  tlsOf: "路由 {title} 的证书",
  tls_auto: "公共证书机构",
  tls_internal: "代理自己的证书机构",
  tls_off: "无：仅 http",
  redirect: "将 http 重定向到 https",
  redirectOf: "路由 {title} 将 http 重定向到 https",
  more: "响应标头、维护页面",
  headerOf: "路由 {title} 的标头 {header}",
  addHeader: "添加响应标头",
  addHeaderOf: "为路由 {title} 添加响应标头",
  removeHeader: "移除路由 {title} 的标头 {header}",
  maintenance: "维护页面",
  maintenanceOf: "路由 {title} 的维护页面",
  maintenanceHint: "没有服务可用时用户看到的 HTML。留空：普通页面。",
};
