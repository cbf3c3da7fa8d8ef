import type { Keepers } from "../../model/store.ts";
import type { CallKind, KeeperCall } from "../query/engine.ts";

type Kinds = { [Noun in keyof Keepers]: { [Method in keyof Keepers[Noun]]: CallKind } };

/** `hold` locks a row until the transaction ends, so only operations use it. */
const kinds: Kinds = {
  users: {
    create: "write",
    byId: "read",
    byUsername: "read",
    hold: "read",
    list: "list",
    update: "write",
    delete: "write",
    count: "read",
    countAdmins: "read",
  },
  sessions: {
    create: "write",
    byTokenHash: "read",
    listOfUser: "read",
    touch: "write",
    delete: "write",
    deleteOfUser: "write",
    deleteExpired: "write",
  },
  apiTokens: {
    create: "write",
    byTokenHash: "read",
    list: "list",
    byId: "read",
    touch: "write",
    delete: "write",
    deleteOfUser: "write",
  },
  attempts: { count: "write", giveBack: "write", forget: "write", deleteEnded: "write" },
  groups: {
    create: "write",
    byId: "read",
    hold: "read",
    list: "list",
    update: "write",
    delete: "write",
    members: "read",
    setMember: "write",
    removeMember: "write",
  },
  projects: {
    create: "write",
    byId: "read",
    hold: "read",
    list: "list",
    update: "write",
    setLive: "write",
    deleteSomeTasks: "change",
    delete: "write",
    withStatusContext: "list",
    secrets: "read",
    secretNames: "read",
    setSecret: "write",
    setSecretScope: "write",
    deleteSecret: "write",
  },
  permissions: {
    ofProject: "read",
    ofGroup: "read",
    visibleProjectIds: "read",
    visibleGroupIds: "read",
    managedProjectIds: "read",
    managedGroupIds: "read",
    hasOtherManagers: "read",
    viewersOfProject: "read",
    managersOfProject: "read",
    membersOfProject: "read",
    setProjectMember: "write",
    removeProjectMember: "write",
  },
  webhookConfigs: {
    ofProject: "read",
    byKey: "read",
    save: "change",
    unsigned: "list",
    formerProjectOf: "read",
  },
  deliveries: {
    create: "write",
    createWithTask: "change",
    byId: "read",
    projectState: "read",
    list: "list",
    latest: "list",
    scan: "list",
    overtaken: "list",
    builtBy: "read",
    replace: "write",
    addToCount: "write",
    countByStatus: "list",
    deleteOfProject: "write",
    deleteOlderThan: "write",
  },
  tasks: {
    create: "write",
    byId: "read",
    list: "list",
    lastOfProjects: "list",
    unfinishedOfProject: "read",
    waiting: "read",
    change: "write",
    claim: "change",
    waits: "read",
    nextNotBefore: "read",
    positions: "list",
    leases: "read",
    countByState: "list",
    appendLog: "change",
    nextLogIndex: "read",
    log: "read",
    logBytes: "read",
  },
  expiredTasks: { after: "list", deleteLogs: "write", delete: "write" },
  releases: {
    put: "write",
    ofTask: "read",
    ofProject: "read",
    update: "write",
    keepOnly: "change",
    delete: "write",
    setOutput: "write",
    output: "read",
  },
  runners: {
    create: "write",
    byId: "read",
    hold: "read",
    byTokenHash: "read",
    localOne: "read",
    list: "read",
    update: "write",
    markGone: "write",
    delete: "write",
  },
  audit: { add: "write", list: "list" },
  pushCodes: { create: "write", consume: "write", deleteOfUser: "write", deleteExpired: "write" },
  outgoingCalls: {
    add: "change",
    takeDue: "write",
    takeFirst: "write",
    putOff: "write",
    nextDue: "read",
    assign: "write",
    deleteUnassigned: "write",
    delete: "write",
    count: "read",
  },
  outgoingAttempts: { add: "change", ofProject: "read" },
  refTips: { ofProject: "list", set: "change", delete: "change" },
  hostTokens: {
    save: "write",
    byId: "read",
    ofUser: "read",
    all: "list",
    setCiphertext: "write",
    delete: "write",
  },
  hostHooks: { save: "write", saveCheck: "write", ofProject: "read", due: "read", delete: "write" },
  polls: {
    ofProject: "read",
    due: "list",
    hold: "write",
    extend: "write",
    finish: "write",
    makeDue: "write",
    renew: "write",
    forget: "write",
  },
  overview: {
    projects: "list",
    runs: "list",
    statistics: "list",
    held: "list",
    serving: "list",
    succeeded: "list",
  },
  gatewayMinutes: { record: "change", between: "read", steps: "read" },
  search: {
    projects: "list",
    branches: "list",
    commits: "list",
    tasks: "list",
    users: "list",
    names: "list",
  },
  meta: { get: "read", set: "write" },
};

/** Keepers whose calls all go to `execute`. */
export function keepersOver(execute: (call: KeeperCall) => Promise<unknown>): Keepers {
  const nouns = Object.entries(kinds).map(([noun, methods]) => {
    const calls = Object.entries(methods).map(([method, kind]: [string, CallKind]) => [
      method,
      (...parameters: unknown[]) => execute({ kind, noun, method, parameters }),
    ]);
    return [noun, Object.fromEntries(calls)];
  });
  return Object.fromEntries(nouns) as Keepers;
}

type Callable = Record<string, Record<string, (...parameters: readonly unknown[]) => Promise<unknown>>>;

/** Executes a call on the keeper that it names. */
export function callKeeper(
  keepers: object,
  { noun, method, parameters }: Omit<KeeperCall, "kind">,
): Promise<unknown> {
  const keeper = (keepers as Callable)[noun];
  const found = keeper?.[method];
  if (keeper === undefined || found === undefined) throw new Error(`There is no ${noun}.${method}.`);
  return found.apply(keeper, parameters as unknown[]);
}
