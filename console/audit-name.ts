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
};

function wordIn(words: Readonly<Record<string, TextKey>>, word: string): string {
  const key = Object.hasOwn(words, word) ? words[word] : undefined;
  return key === undefined ? visible(word) : t(key as "audit.kind_project");
}

/** The name of an action, `project.update`, in the language of the page. */
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
