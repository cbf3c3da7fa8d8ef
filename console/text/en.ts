import { account } from "./en/account.ts";
import { activity } from "./en/activity.ts";
import { app } from "./en/app.ts";
import { approval } from "./en/approval.ts";
import { audit } from "./en/audit.ts";
import { deliveries } from "./en/deliveries.ts";
import { environments } from "./en/environments.ts";
import { execution } from "./en/execution.ts";
import { filter } from "./en/filter.ts";
import { form } from "./en/form.ts";
import { gateway } from "./en/gateway.ts";
import { groups } from "./en/groups.ts";
import { home } from "./en/home.ts";
import { hostHook } from "./en/host-hook.ts";
import { hosts } from "./en/hosts.ts";
import { list } from "./en/list.ts";
import { live } from "./en/live.ts";
import { members } from "./en/members.ts";
import { notify } from "./en/notify.ts";
import { pipelineFile } from "./en/pipeline-file.ts";
import { project } from "./en/project.ts";
import { push } from "./en/push.ts";
import { release } from "./en/release.ts";
import { replay } from "./en/replay.ts";
import { routeForm } from "./en/route-form.ts";
import { routes } from "./en/routes.ts";
import { runners } from "./en/runners.ts";
import { search } from "./en/search.ts";
import { service } from "./en/service.ts";
import { serviceForm } from "./en/service-form.ts";
import { services } from "./en/services.ts";
import { setUp } from "./en/set-up.ts";
import { settings } from "./en/settings.ts";
import { shell } from "./en/shell.ts";
import { signIn } from "./en/sign-in.ts";
import { stages } from "./en/stages.ts";
import { state } from "./en/state.ts";
import { system } from "./en/system.ts";
import { task } from "./en/task.ts";
import { tasks } from "./en/tasks.ts";
import { time } from "./en/time.ts";
import { tokens } from "./en/tokens.ts";
import { trace } from "./en/trace.ts";
import { tryIt } from "./en/try-it.ts";
import { users } from "./en/users.ts";
import { variables } from "./en/variables.ts";
import { warning } from "./en/warning.ts";
import { webhook } from "./en/webhook.ts";
import { words } from "./en/words.ts";

/** English: the reference for the keys of all languages. */
export const en = {
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
