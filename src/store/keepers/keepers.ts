import type { Keepers } from "../../model/store.ts";
import type { Scope } from "../query/scope.ts";
import { buildApiTokenKeeper } from "./api-token.ts";
import { buildAttemptKeeper } from "./attempt.ts";
import { buildAuditKeeper } from "./audit.ts";
import { buildDeliveryKeeper } from "./delivery.ts";
import { buildGatewayMinuteKeeper } from "./gateway-minute.ts";
import { buildGroupKeeper } from "./group.ts";
import { buildHostHookKeeper } from "./host-hook.ts";
import { buildHostTokenKeeper } from "./host-token.ts";
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
import { buildUserKeeper } from "./user.ts";
import { buildWebhookConfigKeeper } from "./webhook-config.ts";

const builders: { [Noun in keyof Keepers]: (scope: Scope) => Keepers[Noun] } = {
  users: buildUserKeeper,
  sessions: buildSessionKeeper,
  apiTokens: buildApiTokenKeeper,
  attempts: buildAttemptKeeper,
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
  audit: buildAuditKeeper,
  pushCodes: buildPushCodeKeeper,
  outgoingCalls: buildOutgoingCallKeeper,
  outgoingAttempts: buildOutgoingAttemptKeeper,
  refTips: buildRefTipKeeper,
  polls: buildPollKeeper,
  hostTokens: buildHostTokenKeeper,
  hostHooks: buildHostHookKeeper,
  overview: buildOverviewKeeper,
  gatewayMinutes: buildGatewayMinuteKeeper,
  search: buildSearchKeeper,
  meta: buildMetaKeeper,
};

export function buildKeepers(scope: Scope): Keepers {
  return Object.fromEntries(Object.entries(builders).map(([noun, build]) => [noun, build(scope)])) as never;
}
