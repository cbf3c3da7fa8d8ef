import type { allTexts } from "../../src/reason/all-texts.ts";
import type { en } from "./en.ts";
import type { Translated } from "./message.ts";
import { account } from "./zh-cn/account.ts";
import { activity } from "./zh-cn/activity.ts";
import { answer } from "./zh-cn/answer.ts";
import { app } from "./zh-cn/app.ts";
import { approval } from "./zh-cn/approval.ts";
import { audit } from "./zh-cn/audit.ts";
import { deliveries } from "./zh-cn/deliveries.ts";
import { environments } from "./zh-cn/environments.ts";
import { execution } from "./zh-cn/execution.ts";
import { field } from "./zh-cn/field.ts";
import { filter } from "./zh-cn/filter.ts";
import { form } from "./zh-cn/form.ts";
import { gateway } from "./zh-cn/gateway.ts";
import { groups } from "./zh-cn/groups.ts";
import { home } from "./zh-cn/home.ts";
import { hostHook } from "./zh-cn/host-hook.ts";
import { hosts } from "./zh-cn/hosts.ts";
import { list } from "./zh-cn/list.ts";
import { live } from "./zh-cn/live.ts";
import { members } from "./zh-cn/members.ts";
import { notify } from "./zh-cn/notify.ts";
import { pipelineFile, pipelineReason } from "./zh-cn/pipeline-file.ts";
import { project } from "./zh-cn/project.ts";
import { push } from "./zh-cn/push.ts";
import { reason } from "./zh-cn/reason.ts";
import { release } from "./zh-cn/release.ts";
import { replay } from "./zh-cn/replay.ts";
import { routeForm } from "./zh-cn/route-form.ts";
import { routes } from "./zh-cn/routes.ts";
import { runners } from "./zh-cn/runners.ts";
import { search } from "./zh-cn/search.ts";
import { service } from "./zh-cn/service.ts";
import { serviceForm } from "./zh-cn/service-form.ts";
import { services } from "./zh-cn/services.ts";
import { setUp } from "./zh-cn/set-up.ts";
import { settings } from "./zh-cn/settings.ts";
import { shell } from "./zh-cn/shell.ts";
import { signIn } from "./zh-cn/sign-in.ts";
import { stages } from "./zh-cn/stages.ts";
import { state } from "./zh-cn/state.ts";
import { system } from "./zh-cn/system.ts";
import { systemReason } from "./zh-cn/system-reason.ts";
import { task } from "./zh-cn/task.ts";
import { tasks } from "./zh-cn/tasks.ts";
import { time } from "./zh-cn/time.ts";
import { tokens } from "./zh-cn/tokens.ts";
import { trace } from "./zh-cn/trace.ts";
import { tryIt } from "./zh-cn/try-it.ts";
import { users } from "./zh-cn/users.ts";
import { variables } from "./zh-cn/variables.ts";
import { warning } from "./zh-cn/warning.ts";
import { warningReason } from "./zh-cn/warning-reason.ts";
import { webhook } from "./zh-cn/webhook.ts";
import { words } from "./zh-cn/words.ts";

/** Simplified Chinese. */
export const zhCN: { [Area in keyof typeof en]: Translated<(typeof en)[Area]> } & {
  /** Texts of the server by their codes; it sends the English ones itself. */
  reason: Translated<typeof allTexts>;
} = {
  account,
  activity,
  app,
  approval,
  audit,
  deliveries,
  environments,
  execution,
  filter,
  form,
  gateway,
  groups,
  home,
  hostHook,
  hosts,
  list,
  live,
  members,
  notify,
  pipelineFile,
  project,
  release,
  push,
  reason: { ...reason, ...field, ...answer, ...warningReason, ...systemReason, ...pipelineReason },
  replay,
  routeForm,
  routes,
  runners,
  search,
  service,
  serviceForm,
  services,
  setUp,
  settings,
  shell,
  signIn,
  stages,
  state,
  system,
  task,
  tasks,
  time,
  tokens,
  trace,
  tryIt,
  users,
  variables,
  warning,
  webhook,
  words,
};
