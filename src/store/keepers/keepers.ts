import type { Keepers } from "../../model/store.ts";
import type { Scope } from "../query/scope.ts";
import { buildApiTokenKeeper } from "./api-token.ts";
import { buildAttemptKeeper } from "./attempt.ts";
import { buildAuditKeeper } from "./audit.ts";
import { buildDeliveryKeeper } from "./delivery.ts";
import { buildExpiredTaskKeeper } from "./expired-task.ts";
import { buildGatewayMinuteKeeper } from "./gateway-minute.ts";
import { buildGroupKeeper } from "./group.ts";
import { buildHostHookKeeper } from "./host-hook.ts";
import { buildHostTokenKeeper } from "./host-token.ts";
import { buildMetaKeeper } from "./meta.ts";
import { buildOutgoingAttemptKeeper } from "./outgoing-attempt.ts";
import { buildOutgoingCallKeeper } from "./outgoing-call.ts";
import { buildOverviewKeeper } from "./overview.ts";
import { buildPermissionKeeper } from "./permission.ts";
import { buildPollKeeper } from "./poll.ts";
import { buildProjectKeeper } from "./project.ts";
import { buildPushCodeKeeper } from "./push-code.ts";
import { buildRefTipKeeper } from "./ref-tip.ts";
import { buildReleaseKeeper } from "./release.ts";
import { buildRunnerKeeper } from "./runner.ts";
import { buildSearchKeeper } from "./search.ts";
import { buildSessionKeeper } from "./session.ts";
import { buildTaskKeeper } from "./task.ts";
import { buildUserKeeper } from "./user.ts";
import { buildWebhookConfigKeeper } from "./webhook-config.ts";

export function buildKeepers(scope: Scope): Keepers {
  return {
    users: buildUserKeeper(scope),
    sessions: buildSessionKeeper(scope),
    apiTokens: buildApiTokenKeeper(scope),
    attempts: buildAttemptKeeper(scope),
    groups: buildGroupKeeper(scope),
    projects: buildProjectKeeper(scope),
    permissions: buildPermissionKeeper(scope),
    webhookConfigs: buildWebhookConfigKeeper(scope),
    deliveries: buildDeliveryKeeper(scope),
    tasks: buildTaskKeeper(scope),
    expiredTasks: buildExpiredTaskKeeper(scope),
    releases: buildReleaseKeeper(scope),
    runners: buildRunnerKeeper(scope),
    audit: buildAuditKeeper(scope),
    pushCodes: buildPushCodeKeeper(scope),
    outgoingCalls: buildOutgoingCallKeeper(scope),
    outgoingAttempts: buildOutgoingAttemptKeeper(scope),
    refTips: buildRefTipKeeper(scope),
    polls: buildPollKeeper(scope),
    hostTokens: buildHostTokenKeeper(scope),
    hostHooks: buildHostHookKeeper(scope),
    overview: buildOverviewKeeper(scope),
    gatewayMinutes: buildGatewayMinuteKeeper(scope),
    search: buildSearchKeeper(scope),
    meta: buildMetaKeeper(scope),
  };
}
