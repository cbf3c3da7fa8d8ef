import type { Keepers } from "../../model/store.ts";
import type { CallKind, KeeperCall } from "../query/engine.ts";

/**
 * Every method of the keepers and how its call runs. It is a list, so that a server whose database is on another thread needs
 * no query builder. Row locks last until the end of a transaction, so only operations call a method that holds one.
 */
const kinds: { [Noun in keyof Keepers]: { [Method in keyof Keepers[Noun]]: CallKind } } = {
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
  attempts: {
    count: "write",
    giveBack: "write",
    forget: "write",
    deleteEnded: "write",
  },
  groups: {
    create: "write",
    byId: "read",
    hold: "read",
    list: "list",
    update: "write",
    delete: "write",
  },
  projects: {
    create: "write",
    byId: "read",
    hold: "read",
    list: "list",
    update: "write",
    setLive: "write",
    setDisk: "write",
    deleteSomeTasks: "change",
    delete: "write",
    withStatusContext: "list",
    secrets: "read",
    secretNames: "read",
    setSecret: "write",
    setSecretUse: "write",
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
    members: "read",
    setMember: "write",
    removeMember: "write",
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
    replaysOf: "read",
    list: "list",
    latest: "list",
    scan: "list",
    overtaken: "list",
    projectState: "read",
    addToCount: "write",
    builtBy: "read",
    replace: "write",
    countByStatus: "list",
    deleteOlderThan: "write",
    deleteOfProject: "write",
  },
  tasks: {
    appendLog: "change",
    nextLogIndex: "read",
    logBytes: "read",
    log: "read",
    create: "write",
    byId: "read",
    list: "list",
    lastOfProjects: "list",
    unfinishedOfProject: "read",
    waiting: "read",
    change: "write",
    claim: "change",
    waits: "read",
    fullRunners: "read",
    nextNotBefore: "read",
    positions: "list",
    leases: "read",
    countByState: "list",
  },
  taskRetention: {
    after: "list",
    deleteLogs: "write",
    delete: "write",
  },
  releases: {
    put: "write",
    ofTask: "read",
    ofProject: "read",
    servedLast: "read",
    update: "write",
    keepOnly: "change",
    delete: "write",
    output: "read",
  },
  runners: {
    create: "write",
    byId: "read",
    byTokenHash: "read",
    localOne: "read",
    hold: "read",
    list: "read",
    update: "write",
    ofProject: "read",
    markGone: "write",
    delete: "write",
  },
  services: {
    put: "write",
    ofProject: "read",
    ofProjects: "read",
    projectsOfRunner: "read",
    delete: "write",
    markAway: "write",
    countByState: "list",
    addSample: "write",
    samples: "list",
    addRequests: "write",
    requests: "list",
    deleteSamples: "write",
  },
  routePlaces: {
    claim: "change",
  },
  outputReads: {
    add: "change",
    take: "write",
    answer: "write",
    answerOf: "read",
    delete: "write",
    deleteOlderThan: "write",
  },
  audit: {
    add: "write",
    list: "list",
    lastId: "read",
    changesOf: "list",
  },
  pushCodes: {
    create: "write",
    consume: "write",
    deleteOfUser: "write",
    deleteExpired: "write",
  },
  outgoingCalls: {
    add: "change",
    takeDue: "write",
    takeFirst: "write",
    putOff: "write",
    nextDue: "read",
    delete: "write",
    count: "read",
  },
  outgoingAttempts: {
    add: "change",
    ofProject: "read",
  },
  refTips: {
    ofProject: "list",
    set: "change",
    delete: "change",
  },
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
  hostTokens: {
    save: "write",
    byId: "read",
    ofUser: "read",
    all: "list",
    setCiphertext: "write",
    delete: "write",
  },
  hostHooks: {
    save: "write",
    change: "write",
    saveCheck: "write",
    ofProject: "read",
    due: "read",
    delete: "write",
  },
  overview: {
    projects: "list",
    runs: "list",
    statistics: "list",
    held: "list",
    serving: "list",
    ended: "list",
  },
  gatewayMinutes: {
    record: "change",
    between: "read",
    steps: "read",
  },
  search: {
    projects: "list",
    branches: "list",
    commits: "list",
    tasks: "list",
    users: "list",
    names: "list",
  },
  meta: {
    get: "read",
    set: "write",
  },
};

/** Keepers whose calls all go to `execute`. */
export function keepersOver(execute: (call: KeeperCall) => Promise<unknown>): Keepers {
  const keepers = Object.entries(kinds).map(([noun, methods]: [string, Record<string, CallKind>]) => {
    const calls = Object.entries(methods).map(([method, kind]) => [
      method,
      (...parameters: unknown[]) => execute({ kind, noun, method, parameters }),
    ]);
    return [noun, Object.fromEntries(calls)];
  });
  return Object.fromEntries(keepers) as Keepers;
}

type Methods = Record<string, (...parameters: readonly unknown[]) => Promise<unknown>>;

/** Executes a call on the keeper that it names. */
export function callKeeper(
  keepers: object,
  { noun, method, parameters }: Omit<KeeperCall, "kind">,
): Promise<unknown> {
  const keeper = (keepers as Record<string, Methods>)[noun];
  const found = keeper?.[method];
  if (keeper === undefined || found === undefined) throw new Error(`There is no ${noun}.${method}.`);
  return found.apply(keeper, parameters as unknown[]);
}
