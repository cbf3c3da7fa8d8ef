import type { Keepers } from "../../model/store.ts";
import type { Scope } from "../query/scope.ts";
import { buildActivityKeeper } from "./activity.ts";
import { buildApiTokenKeeper } from "./api-token.ts";
import { buildAuditKeeper } from "./audit.ts";
import { buildDeliveryKeeper } from "./delivery.ts";
import { buildFailedAttemptKeeper } from "./failed-attempt.ts";
import { buildGatewayMinuteKeeper } from "./gateway-minute.ts";
import { buildGroupKeeper } from "./group.ts";
import { buildHostHookKeeper } from "./host-hook.ts";
import { buildHostTokenKeeper } from "./host-token.ts";
import { buildIdentityKeeper } from "./identity.ts";
import { buildMetaKeeper } from "./meta.ts";
import { buildOutgoingAttemptKeeper } from "./outgoing-attempt.ts";
import { buildOutgoingCallKeeper } from "./outgoing-call.ts";
import { buildOutputReadKeeper } from "./output-read.ts";
import { buildOverviewKeeper } from "./overview.ts";
import { buildPermissionKeeper } from "./permission.ts";
import { buildPollKeeper } from "./poll.ts";
import { buildProjectKeeper } from "./project.ts";
import { buildPushCodeKeeper } from "./push-code.ts";
import { buildRefTipKeeper } from "./ref-tip.ts";
import { buildReleaseKeeper } from "./release.ts";
import { buildRoutePlaceKeeper } from "./route-place.ts";
import { buildRunnerKeeper } from "./runner.ts";
import { buildSearchKeeper } from "./search.ts";
import { buildServiceKeeper } from "./service.ts";
import { buildSessionKeeper } from "./session.ts";
import { buildTaskKeeper } from "./task.ts";
import { buildTaskRetentionKeeper } from "./task-retention.ts";
import { buildTransferKeeper } from "./transfer.ts";
import { buildUserKeeper } from "./user.ts";
import { buildWebhookConfigKeeper } from "./webhook-config.ts";

const builders: { [Noun in keyof Keepers]: (scope: Scope) => Keepers[Noun] } = {
  users: buildUserKeeper,
  identities: buildIdentityKeeper,
  sessions: buildSessionKeeper,
  apiTokens: buildApiTokenKeeper,
  attempts: buildFailedAttemptKeeper,
  groups: buildGroupKeeper,
  projects: buildProjectKeeper,
  permissions: buildPermissionKeeper,
  webhookConfigs: buildWebhookConfigKeeper,
  deliveries: buildDeliveryKeeper,
  tasks: buildTaskKeeper,
  taskRetention: buildTaskRetentionKeeper,
  releases: buildReleaseKeeper,
  runners: buildRunnerKeeper,
  services: buildServiceKeeper,
  routePlaces: buildRoutePlaceKeeper,
  outputReads: buildOutputReadKeeper,
  transfers: buildTransferKeeper,
  audit: buildAuditKeeper,
  pushCodes: buildPushCodeKeeper,
  outgoingCalls: buildOutgoingCallKeeper,
  outgoingAttempts: buildOutgoingAttemptKeeper,
  refTips: buildRefTipKeeper,
  polls: buildPollKeeper,
  hostTokens: buildHostTokenKeeper,
  hostHooks: buildHostHookKeeper,
  activity: buildActivityKeeper,
  overview: buildOverviewKeeper,
  gatewayMinutes: buildGatewayMinuteKeeper,
  search: buildSearchKeeper,
  meta: buildMetaKeeper,
};

export function buildKeepers(scope: Scope): Keepers {
  return Object.fromEntries(Object.entries(builders).map(([noun, build]) => [noun, build(scope)])) as never;
}
