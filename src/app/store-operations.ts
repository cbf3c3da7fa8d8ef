import { changeGroup, deleteGroup } from "../account/change-group.ts";
import { changeUser, deleteUser } from "../account/change-user.ts";
import { createToken } from "../account/create-token.ts";
import { createFirstUser } from "../account/first-admin.ts";
import { changePassword, openSession } from "../account/open-session.ts";
import { openProviderSession } from "../account/provider/open-provider-session.ts";
import { renewSession } from "../account/provider/refresh-sessions.ts";
import { refuseAccount } from "../account/provider/refuse-account.ts";
import { rescue } from "../account/rescue.ts";
import type { AnyOperation } from "../model/store.ts";
import { takeHookChecks } from "../set-up/take-hook-checks.ts";
import { auditedCall } from "../store/keepers/audited-call.ts";
import { keepKeyCheck, readKeyCheck, replaceSealed } from "../store/maintenance/key-operations.ts";
import { answerApproval, endApprovals } from "../task/approval/answer-approval.ts";
import { prepareApproval } from "../task/approval/request-approval.ts";
import { beginMove } from "../task/begin-move.ts";
import { changeProject, createProject } from "../task/change-project.ts";
import { changeRunner, deleteRunner } from "../task/change-runner.ts";
import { noteLastingWait } from "../task/events/waiting-note.ts";
import { adoptPipeline, reportPipeline } from "../task/hand-out/report-pipeline.ts";
import { changeDefaultNotify } from "../task/notify/change-default-notify.ts";
import { reportGone } from "../task/notify/runner-watch.ts";
import {
  appendLog,
  cancelTask,
  claimTask,
  expireLease,
  finishTask,
  giveBackTask,
  refuseTask,
  renewLease,
  reportRollback,
  reportStage,
  startTask,
} from "../task/queue.ts";
import { recordServices } from "../task/service/record-services.ts";
import { beginAction } from "../task/service/service-actions.ts";
import { noteAwayServices } from "../task/service/service-watch.ts";
import { changeSecretUse, storeSecret } from "../task/store-secret.ts";
import { beginTransfer } from "../task/transfer/begin-transfer.ts";
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
  prepareApproval,
  answerApproval,
  endApprovals,
  storeSecret,
  changeSecretUse,
  noteLastingWait,
  startTask,
  claimTask,
  renewLease,
  reportStage,
  reportPipeline,
  adoptPipeline,
  reportRollback,
  appendLog,
  finishTask,
  giveBackTask,
  refuseTask,
  expireLease,
  cancelTask,
  reportGone,
  recordServices,
  noteAwayServices,
  beginAction,
  beginTransfer,
  beginMove,
  changeDefaultNotify,
  createProject,
  changeProject,
  changeRunner,
  deleteRunner,
  openSession,
  openProviderSession,
  renewSession,
  refuseAccount,
  changePassword,
  createToken,
  createFirstUser,
  changeUser,
  deleteUser,
  rescue,
  changeGroup,
  deleteGroup,
  auditedCall,
  readKeyCheck,
  keepKeyCheck,
  replaceSealed,
];
