import type { ConsoleAccess } from "../../account/console-access.ts";
import type { Credentials } from "../../account/credential.ts";
import type { Passwords } from "../../account/password.ts";
import type { Permissions } from "../../account/permissions.ts";
import type { ProviderSignIn } from "../../account/provider/provider-sign-in.ts";
import type { SignIn } from "../../account/sign-in.ts";
import type { Clock } from "../../clock.ts";
import type { Logger } from "../../logger.ts";
import type { Metrics } from "../../metrics.ts";
import type { PackageInside, SystemBackup, SystemState } from "../../model/console/system.ts";
import type { GitUrlRules } from "../../model/git/git-url.ts";
import type { Store } from "../../model/store.ts";
import type { PushCodes } from "../../push/admission/own-codes.ts";
import type { Samples } from "../../sample/sample.ts";
import type { Secrets } from "../../secrets.ts";
import type { HostCallLimit } from "../../set-up/host-call-limit.ts";
import type { HostHooks } from "../../set-up/host-hooks.ts";
import type { HostTokens } from "../../set-up/host-tokens.ts";
import type { Inspections } from "../../set-up/inspect.ts";
import type { Approvals } from "../../task/approval/approvals.ts";
import type { ManualTasks } from "../../task/manual-tasks.ts";
import type { TestMessages } from "../../task/notify/test-message.ts";
import type { ServiceActions } from "../../task/service/service-actions.ts";
import type { WantedOutputs } from "../../task/service/wanted-output.ts";
import type { WebhookManagement } from "../../webhook/management.ts";
import type { Poller } from "../../webhook/poll/poller.ts";
import type { Replays } from "../../webhook/replay.ts";
import type { TestDeliveries } from "../../webhook/test-delivery.ts";
import type { Networks } from "../client-address.ts";
import type { GatewayCalls } from "../gateway-calls.ts";
import type { GatewayHistory } from "../gateway-history.ts";

export interface PushDeps {
  codes: PushCodes;
  operations: GatewayCalls;
  consoleAccess: ConsoleAccess;
  /** Null without a push gateway. */
  history: Pick<GatewayHistory, "series"> | null;
}

/** What the endpoints work with. Every noun gets all of it and takes its part. */
export interface ApiDeps {
  system: {
    state(): Promise<SystemState>;
    backUp(): Promise<SystemBackup>;
    packages(): Promise<PackageInside[]>;
  };
  store: Store;
  secrets: Secrets;
  passwords: Passwords;
  credentials: Credentials;
  permissions: Permissions;
  signIn: SignIn;
  providers: ProviderSignIn;
  /** The setting auth.local. */
  local: "everyone" | "admins";
  gitUrlRules: GitUrlRules;
  manualTasks: ManualTasks;
  serviceActions: ServiceActions;
  outputs: Pick<WantedOutputs, "read">;
  approvals: Approvals;
  testMessages: TestMessages;
  /** The setting tasks.allowInternalNotifications. */
  allowInternal: boolean;
  /** The setting routes.anyDomain. */
  anyDomain: boolean;
  /** The setting runner.labels. If set, the local runner gets these labels at every start. */
  localRunnerLabels: string[];
  /** How the runner that this process keeps ended last; null: it has not ended, or there is none. */
  localRunnerEnd(): { runnerId: number; at: Date; text: string } | null;
  /** Finished tasks are deleted after this many days; 0: never. */
  taskRetentionDays: number;
  webhook: {
    management: WebhookManagement;
    tests: TestDeliveries;
    replays: Replays;
    samples: Samples;
    pollStateOf: Poller["stateOf"];
    pollNow: Poller["pollNow"];
  };
  setUp: { inspections: Inspections; tokens: HostTokens; hooks: HostHooks; calls: HostCallLimit };
  push: PushDeps;
  trustedProxies: Networks;
  /** When the console's cookie is `Secure`: always, if the client used https, or never. */
  secureCookie: "always" | "by-request" | "never";
  /** Origins of the console, in addition to the request's own host. */
  ownOrigins: readonly string[];
  clock: Clock;
  log: Logger;
  metrics: Metrics;
}
