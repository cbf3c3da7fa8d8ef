import { type Remote, type RemoteCommit, RemoteError } from "../../git/remote.ts";
import { isCommit } from "../../model/git/git-ref.ts";
import { mapTexts, newReason, type Reason } from "../../reason/reason.ts";
import type { Decider } from "../decide/decider.ts";
import { newDelivery, projectOf, traceOn } from "../decide/delivery.ts";
import { deliveryKinds } from "../decide/delivery-kind.ts";
import { applyFilters } from "../decide/filters.ts";
import { isRefused } from "../decide/outcome.ts";
import { storedBodyOf } from "../decide/stored-body.ts";
import { rulesOf } from "../hook/compiled-rules.ts";
import type { Hook, Hooks } from "../hook/hooks.ts";
import { type Comparison, eventOf, findMissedPushes, kindsOf, scopeOf } from "./missed-pushes.ts";
import type { FoundTip, PollResult } from "./poll-operations.ts";
import { openProjectRemote, type ProjectRemoteOptions } from "./project-remote.ts";

/** `allowInternal` is that of notifications: tasks.allowInternalNotifications. */
export interface PollOptions extends ProjectRemoteOptions {
  hooks: Hooks;
  decider: Decider;
  version: string;
}

/** The right to poll a project, until `stop`. */
export interface Hold {
  projectId: number;
  stop: AbortSignal;
  /** Throws when another server has taken over. */
  extend(): Promise<void>;
}

type Found = Pick<PollResult, "found" | "basis" | "error" | "note">;

/** Longest poll of one project; what is left over is found by the next poll. */
const maxPollMs = 240_000;
const maxErrorLength = 500;
const maxBodyPaths = 100;

/** Compares the tips of a project with its Git host; new ones become deliveries. Null: the project is not polled. */
export async function pollProject(hold: Hold, options: PollOptions): Promise<Found | null> {
  const { store, hooks } = options;
  const [config, project] = [
    await store.webhookConfigs.ofProject(hold.projectId),
    await store.projects.byId(hold.projectId),
  ];
  if (!config?.enabled || project === null || project.git.url === "") return null;
  const hook = hooks.hookOf(config, project);
  let remote: Remote | null = null;
  try {
    remote = await openProjectRemote(project, options, { stop: hold.stop, beforeEach: hold.extend });
    return await pollHook(hook, remote, options);
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    return { found: [], basis: null, error: errorOf(error), note: "" };
  } finally {
    remote?.close();
  }
}

async function pollHook(hook: Hook, remote: Remote, options: PollOptions): Promise<Found> {
  const { store, version } = options;
  const { project } = hook;
  const rules = rulesOf(hook.config, hook.project);
  const endsAt = performance.now() + maxPollMs;
  // Read before the host is asked: a push that is handled meanwhile is then recognised by its changed tip.
  const stored = await store.refTips.ofProject(project.id);
  const poll = (await store.polls.ofProject(project.id)) ?? { url: "", version: "", scope: "" };
  const kinds = kindsOf(rules);
  const refs = kinds.length === 0 ? new Map() : await remote.refs(kinds);
  const { pushed, found, note } = await findMissedPushes({ rules, project }, refs, stored, poll, version);
  const basis = { url: project.git.url, version, scope: scopeOf(rules) };
  let error: Reason = "";
  for (const entry of pushed) {
    if (performance.now() > endsAt) {
      error ||= newReason("poll_long");
      break;
    }
    try {
      const unfit = await deliver(hook, remote, entry, options);
      if (unfit !== null) found.push(unfit);
    } catch (problem) {
      if (!(problem instanceof RemoteError)) throw problem;
      error ||= errorOf(problem);
    }
  }
  return { found, basis, error, note };
}

/** Makes a delivery of a new tip. Returns the tip if the filters stop it: then it is only stored. */
async function deliver(
  hook: Hook,
  remote: Remote,
  { ref, tip, before }: Comparison["pushed"][number],
  { store, decider }: PollOptions,
): Promise<FoundTip | null> {
  const earlier = before !== null && isCommit(before) ? before : null;
  // The ref may have moved since the list: then this is the newer commit.
  const fetched = await remote.commitOf(ref, earlier);
  const isAnnotated = fetched.commit === tip.commit && tip.object !== tip.commit;
  const event = eventOf(ref, { ...fetched, ...(isAnnotated ? { tagObject: tip.object } : {}) });
  if (applyFilters(event, rulesOf(hook.config, hook.project), deliveryKinds.poll).stoppedBy !== null)
    return { ref, commit: fetched.commit, expected: before };
  const now = store.now();
  const delivery = newDelivery(deliveryKinds.poll, now, {
    ...projectOf(hook),
    event,
    body: bodyOf(hook, ref, before, fetched, now),
    comparedTip: { commit: before },
  });
  const value = `${ref} ${fetched.commit}`;
  const detail = newReason("polled", { before: before ?? "nothing" });
  traceOn(delivery.trace).add("poll", "pass", value, tip.commit, detail);
  const { body } = await decider.decide(delivery);
  if (isRefused(body)) throw new RemoteError(newReason("poll_not_delivered", { ref, why: body.reason }));
  return null;
}

/** In the format of a generic sender. */
function bodyOf(hook: Hook, ref: string, before: string | null, commit: RemoteCommit, now: Date): string {
  const { pathsUnknownBecause: _, paths, ...known } = commit;
  const payload = { event: "poll", ref, before, ...known, paths: paths?.slice(0, maxBodyPaths) ?? null };
  return storedBodyOf(JSON.stringify(payload), payload, hook.secrets().accepted(now.getTime()));
}

/** Without control characters; the host may have written a part of it. */
function errorOf({ reason }: RemoteError): Reason {
  return mapTexts(reason, (text) =>
    text
      .toWellFormed()
      .replaceAll(/\p{Cc}+/gu, " ")
      .slice(0, maxErrorLength),
  );
}
