import { changeGroup } from "../account/change-group.ts";
import { changeUser, deleteUser } from "../account/change-user.ts";
import { createToken } from "../account/create-token.ts";
import { createFirstUser } from "../account/first-admin.ts";
import { changePassword, openSession } from "../account/open-session.ts";
import { rescue } from "../account/rescue.ts";
import type { AnyOperation } from "../model/store.ts";
import { takeHookChecks } from "../set-up/take-hook-checks.ts";
import { auditedCall } from "../store/keepers/audited-call.ts";
import { keepKeyCheck, readKeyCheck, replaceSealed } from "../store/maintenance/key-operations.ts";
import { answerApproval, endApprovals } from "../task/approval/answer-approval.ts";
import { prepareApproval } from "../task/approval/request-approval.ts";
import { changeProject, createProject } from "../task/change-project.ts";
import { changeRunner } from "../task/change-runner.ts";
import { noteLastingWait } from "../task/events/waiting-note.ts";
import { appendLog } from "../task/hand-out/append-log.ts";
import { endLease } from "../task/hand-out/end-lease.ts";
import { finishTask } from "../task/hand-out/finish-task.ts";
import { renewLease } from "../task/hand-out/lease.ts";
import { refuseTask } from "../task/hand-out/refuse-task.ts";
import { reportRollback } from "../task/hand-out/report-release.ts";
import { reportStage } from "../task/hand-out/report-stage.ts";
import { cancelTask, startTask } from "../task/manual-tasks.ts";
import { changeDefaultNotify } from "../task/notify/change-default-notify.ts";
import { reportGone } from "../task/notify/runner-watch.ts";
import { recordServices } from "../task/service/record-services.ts";
import { beginAction } from "../task/service/service-actions.ts";
import { noteAwayServices } from "../task/service/service-watch.ts";
import { changeSecretUse, storeSecret } from "../task/store-secret.ts";
import { acceptDelivery } from "../webhook/decide/decide-delivery.ts";
import { recordRefusal } from "../webhook/decide/record.ts";
import { finishPoll, takePolls } from "../webhook/poll/poll-operations.ts";
import { saveWebhook } from "../webhook/save-webhook.ts";

/** Every operation of the product. SQLite's threads find them here by name. */
export const operations: readonly AnyOperation[] = [
  acceptDelivery,
  recordRefusal,
  saveWebhook,
  takePolls,
  finishPoll,
  takeHookChecks,
  startTask,
  cancelTask,
  prepareApproval,
  answerApproval,
  endApprovals,
  storeSecret,
  changeSecretUse,
  noteLastingWait,
  renewLease,
  appendLog,
  reportStage,
  reportRollback,
  finishTask,
  refuseTask,
  endLease,
  reportGone,
  recordServices,
  noteAwayServices,
  beginAction,
  changeDefaultNotify,
  createProject,
  changeProject,
  changeRunner,
  openSession,
  changePassword,
  createToken,
  createFirstUser,
  changeUser,
  deleteUser,
  rescue,
  changeGroup,
  auditedCall,
  readKeyCheck,
  keepKeyCheck,
  replaceSealed,
];
