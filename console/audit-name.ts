import { type TextKey, t } from "./text/text.ts";
import { visible } from "./visible.ts";

/** The words of actions and subjects that have a text; others are shown as the server sends them. */
const kinds: Readonly<Record<string, TextKey>> = {
  auth: "audit.kind_auth",
  delivery: "audit.kind_delivery",
  group: "audit.kind_group",
  "host-hook": "audit.kind_host_hook",
  "host-token": "audit.kind_host_token",
  project: "audit.kind_project",
  push: "audit.kind_push",
  runner: "audit.kind_runner",
  sample: "audit.kind_sample",
  service: "audit.kind_service",
  task: "audit.kind_task",
  token: "audit.kind_token",
  user: "audit.kind_user",
  webhook: "audit.kind_webhook",
  notify: "audit.kind_notify",
  system: "audit.kind_system",
};

const verbs: Readonly<Record<string, TextKey>> = {
  create: "audit.verb_create",
  delete: "audit.verb_delete",
  update: "audit.verb_update",
  rename: "audit.verb_rename",
  save: "audit.verb_save",
  test: "audit.verb_test",
  login: "audit.verb_login",
  logout: "audit.verb_logout",
  link: "audit.verb_link",
  unlink: "audit.verb_unlink",
  replay: "audit.verb_replay",
  move: "audit.verb_move",
  publish: "audit.verb_publish",
  disconnect: "audit.verb_disconnect",
  revoke: "audit.verb_revoke",
  run: "audit.verb_run",
  rerun: "audit.verb_rerun",
  cancel: "audit.verb_cancel",
  rollback: "audit.verb_rollback",
  approve: "audit.verb_approve",
  reject: "audit.verb_reject",
  rescue: "audit.verb_rescue",
  push: "audit.verb_push",
  "reset-key": "audit.verb_reset_key",
  "reset-token": "audit.verb_reset_token",
  "set-secret": "audit.verb_set_secret",
  "delete-secret": "audit.verb_delete_secret",
  "change-password": "audit.verb_change_password",
  "end-session": "audit.verb_end_session",
  "end-sessions": "audit.verb_end_sessions",
  "test-notification": "audit.verb_test_notification",
  default: "audit.verb_default",
  "default-remove": "audit.verb_default_remove",
  "default-test": "audit.verb_default_test",
  backup: "audit.verb_backup",
  connect: "audit.verb_connect",
  forget: "audit.verb_forget",
  start: "audit.verb_start",
  stop: "audit.verb_stop",
  restart: "audit.verb_restart",
  exec: "audit.verb_exec",
  "set-member": "audit.verb_set_member",
  "remove-member": "audit.verb_remove_member",
  promote: "audit.verb_promote",
};

/** Fields whose name in the API is no word; the others are words already. */
const fields: Readonly<Record<string, TextKey>> = {
  alsoUnlabelled: "audit.field_alsoUnlabelled",
  trustedIsolation: "audit.field_trustedIsolation",
  groupIds: "audit.field_groupIds",
  groupId: "audit.field_groupId",
  publicUrl: "audit.field_publicUrl",
  allowedDomains: "audit.field_allowedDomains",
  defaultNotify: "audit.field_defaultNotify",
  rerunOf: "audit.field_rerunOf",
  rollbackTo: "audit.field_rollbackTo",
  deliveryId: "audit.field_deliveryId",
  taskId: "audit.field_taskId",
  projectId: "audit.field_projectId",
  userId: "audit.field_userId",
  expiresAt: "audit.field_expiresAt",
  withData: "audit.field_withData",
  keepTokens: "audit.field_keepTokens",
  liveTaskId: "audit.field_liveTaskId",
  homeRunnerId: "audit.field_homeRunnerId",
  promotes: "audit.field_promotes",
};

function wordIn(words: Readonly<Record<string, TextKey>>, word: string): string {
  const key = Object.hasOwn(words, word) ? words[word] : undefined;
  return key === undefined ? visible(word) : t(key as "audit.kind_project");
}

/** What an action, `project.update`, is in words; one without words stays as the server sends it. */
export function actionName(action: string): string {
  const [kind = "", verb = ""] = action.split(/\.(.*)/s);
  if (verb === "" || !Object.hasOwn(kinds, kind) || !Object.hasOwn(verbs, verb)) return visible(action);
  return t("audit.actionName", { kind: wordIn(kinds, kind), verb: wordIn(verbs, verb) });
}

/** The object of an entry, `project shop`, with its kind in the language of the page. */
export function subjectName(subject: string): string {
  const [kind = "", name = ""] = subject.split(/ (.*)/s);
  return `${wordIn(kinds, kind)} ${visible(name)}`.trim();
}

/** The name of a field or fact in an entry. */
export function fieldName(field: string): string {
  return wordIn(fields, field);
}
