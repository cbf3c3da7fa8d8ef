import { z } from "zod";
import { isolationLevels } from "../model/execution.ts";
import { isCommit } from "../model/git/git-ref.ts";
import { pipelineSchema, stepName, stepSchema } from "../model/pipeline.ts";
import { diskUse } from "../model/service/disk-use.ts";
import { proxyNames } from "../model/service/route.ts";
import { serviceNameSchema, serviceReport, serviceSchema } from "../model/service/service.ts";
import { logStages, stageNames } from "../model/stage/stage-name.ts";
import { saidReason, saidText } from "../reason/said-reason.ts";
import { label } from "../reason/schema-forms.ts";

/**
 * The runner protocol: everything that server and runner know of each other. A runner requests work by long-poll (POST
 * /api/runner/claim) and receives the only instruction, `run_task`, or 204. All other calls contain taskId, attempt and
 * lease, are idempotent, and are answered with `continue`: these responses carry cancel, timeout and loss of the lease,
 * so the runner needs no second instruction.
 */
/** What every runner can do. A server refuses a runner that lacks one of them: it would run tasks wrongly. */
export const runnerFeatures = [
  "releases",
  "approvals",
  "deploy-secrets",
  "lfs",
  "pipeline",
  "services",
  "routes",
  "pipeline-file",
  "environments",
];
/** Of runners that send releases to others, and get them. Servers ask other runners for nothing of that kind. */
export const transferFeature = "release-transfer";
/** Features of which each keeps scripts of one project from the workspaces of others; the second one of runners before 2.0. */
export const separatingFeatures = ["sandbox", "project-users"];

/** A step with what the server has decided: its time, and its image if it has none of its own. */
const wireStep = stepSchema.omit({ timeout: true }).extend({ timeoutMs: z.number().int() });

const wireStage = z.object({ name: z.enum(stageNames), steps: z.array(wireStep) });
export type WireStage = z.infer<typeof wireStage>;

/** A service with the image that the server has decided; empty: none. */
const wireService = serviceSchema.extend({ name: serviceNameSchema });
export type WireService = z.infer<typeof wireService>;

/** SHA-256 of the paths, modes, links and contents of a release. */
const treeDigestText = z.string().regex(/^[0-9a-f]{64}$/);

/** A release whose workspace a runner has kept. */
const keptRelease = z.object({
  taskId: z.number().int(),
  attempt: z.number().int(),
  ref: z.string(),
  commit: z.string(),
  message: z.string(),
  author: z.string(),
});
export type KeptRelease = z.infer<typeof keptRelease>;

/** A line for the log: which settings a release that comes back runs with. Absent: it says nothing of them. */
const releaseSettings = z.string().optional();

/** A kept release with what is needed to run it again. */
const restorable = keptRelease.extend({
  stages: z.array(wireStage),
  /** What serves; empty: the release has steps of start, or nothing that stays. */
  services: z.array(wireService),
  env: z.record(z.string(), z.string()),
  settings: releaseSettings,
});
export type RestorableRelease = z.infer<typeof restorable>;

/** What a person does with services that run, or one command in the release that serves. */
export const serviceAction = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["start", "stop", "restart"]), services: z.array(serviceNameSchema).min(1) }),
  z.object({ type: z.literal("exec"), command: z.array(z.string()).min(1), timeoutMs: z.number().int() }),
  /** Ends all services of the project here, and its routes. */
  z.object({ type: z.literal("leave"), services: z.array(serviceNameSchema) }),
]);
export type ServiceAction = z.infer<typeof serviceAction>;

export const runTask = z.object({
  type: z.literal("run_task"),
  taskId: z.number().int(),
  attempt: z.number().int(),
  lease: z.string(),
  projectId: z.number().int(),
  repo: z.object({
    url: z.string(),
    submodules: z.boolean(),
    /** Whether the files of Git LFS are fetched. */
    lfs: z.boolean(),
    /** The code of a fork: its submodules are fetched without the credential. */
    isFork: z.boolean(),
    credential: z
      .discriminatedUnion("type", [
        z.object({ type: z.literal("token"), username: z.string(), token: z.string() }),
        z.object({ type: z.literal("ssh"), privateKey: z.string() }),
      ])
      .nullable(),
    /** The server permits a local path (samples, or tasks.allowLocalRepositories). */
    allowLocal: z.boolean(),
    /** Origins of Git servers that may be used over http too. */
    trusted: z.array(z.string()),
  }),
  ref: z.string(),
  commit: z.string().nullable(),
  /** Absent: `stages` and what follows are complete. Otherwise the runner reads the pipeline from this file, and asks for them. */
  pipelineFile: z
    .object({
      path: z.string(),
      /** Whose file counts, for the code of a fork; null: that of the commit. */
      branch: z.string().nullable(),
    })
    .optional(),
  stages: z.array(wireStage),
  /** What serves after the stages; the services of the project that are not among them end. Null: those that run stay. */
  services: z.array(wireService).nullable(),
  /** Absent: a deploy. Otherwise something small that is done with the release that serves, without a checkout. */
  action: serviceAction.optional(),
  /** The folders of the release, and whether deploy and start can only read the others. */
  folders: pipelineSchema.pick({ data: true, scratch: true, sealed: true }),
  /** Limits for each step; null: none. */
  resources: z.object({
    memoryBytes: z.number().int().nullable(),
    cpus: z.number().nullable(),
    processes: z.number().int().nullable(),
    nice: z.number().int().min(0).max(19),
  }),
  /** Folders of the workspace, or below `~/`, that are kept for the next task of the project. */
  cache: z.array(z.string()),
  /** Tasks with another scope do not share these folders. It becomes part of a path. */
  cacheScope: z.string().regex(/^(protected|other|fork-[0-9a-f]{12})$/),
  /**
   * The folders of `cache` are empty ones of the workspace. The deploy needs an approval, and builds of refs without one write to
   * the cache of this scope.
   */
  emptyCache: z.boolean().optional(),
  /** Plain environment, CI_* included. */
  env: z.record(z.string(), z.string()),
  /** Passed as environment too, and masked in the log. */
  secrets: z.record(z.string(), z.string()),
  /** Secrets that only deploy and start get; masked everywhere. */
  deploySecrets: z.record(z.string(), z.string()).optional(),
  /** Names of the secrets that scripts get as files; their variables have the paths. */
  files: z.array(z.string()),
  limits: z.object({
    logMaxBytes: z.number().int(),
    /** Bytes of logMaxBytes that earlier attempts of this task have used. */
    logBytesUsed: z.number().int(),
    checkoutTimeoutMs: z.number().int(),
    stopGraceMs: z.number().int(),
    beatEveryMs: z.number().int(),
    /** Most that releases and data of the project may take; absent: no limit. */
    diskBytes: z.number().int().optional(),
    /** A runner that cannot renew for this long ends its processes. */
    giveUpAfterMs: z.number().int(),
  }),
  /** Index of the first log line of this attempt. */
  logFrom: z.number().int(),
  /** A deploy that a person must approve runs in two steps. Absent: it needs no approval. */
  approval: z
    .discriminatedUnion("step", [
      /** Everything before deploy. The workspace stays for the second step, at most until `keepUntil` (milliseconds). */
      z.object({ step: z.literal("build"), keepUntil: z.number().int() }),
      /** Deploy and start, in the built workspace only: if it is gone, what was approved is gone. */
      z.object({ step: z.literal("deploy"), workspace: keptRelease }),
    ])
    .optional(),
  /** Tasks of the project whose built workspaces still wait. The runner removes those of other tasks. */
  waitingTasks: z.array(z.number().int()),
  release: z.object({
    /** Whether the workspace of a success is kept: not that of a build alone in a project that deploys. */
    isKept: z.boolean(),
    /** Runs deploy and start in this kept workspace, without checkout and build, if it is still there. */
    from: keptRelease.nullable(),
    /**
     * The release runs from the files of this one, which was built for another environment, without checkout and build. Absent: it has
     * its own.
     */
    promotes: keptRelease.extend({ projectId: z.number().int() }).optional(),
    /** If this runner does not have `from`: it is made of this release, which another runner or another project has. */
    fetch: z
      .object({
        source: z.object({
          projectId: z.number().int(),
          taskId: z.number().int(),
          attempt: z.number().int(),
        }),
        /** The name of the runner that has it. */
        holder: z.string(),
        /** What its files must have; null: it was not sealed, or by a version that recorded none. */
        digest: treeDigestText.nullable(),
        /** Whether the data of the project is fetched too. */
        withData: z.boolean(),
      })
      .optional(),
    settings: releaseSettings,
    /** Runs again if deploy, start or the health check fails. */
    previous: restorable.nullable(),
  }),
});
export type RunTask = z.infer<typeof runTask>;

export const claimRequest = z.object({
  labels: z.array(label).max(32),
  concurrency: z.number().int().min(1).max(256),
  version: z.string().regex(/^[\w.+-]{1,64}$/, "must have 1 to 64 letters, digits or _ . + -"),
  /** Runners before 2.0 say `user`. */
  isolation: z
    .preprocess((said) => (said === "user" ? "sandbox" : said), z.enum(isolationLevels))
    .default("none"),
  /** Why its scripts are not isolated, and how they can be. */
  isolationNote: z.object(saidReason).optional(),
  /** The proxy that serves routes; null: it cannot serve any. */
  proxy: z.enum(proxyNames).nullable().default(null),
  /** Why it has no proxy, and how it gets one. */
  proxyNote: z.object(saidReason).optional(),
  /** Whether it can run stages in containers. */
  containers: z.boolean().default(false),
  /** The list itself may be absent, so that a runner without any is refused with a sentence. */
  features: z
    .array(z.string().regex(/^[a-z-]{1,32}$/))
    .max(32)
    .default([]),
});

export type ClaimRequest = z.infer<typeof claimRequest>;

/** Response to hello, which a runner sends once, with the body of a claim: the name and labels it has on the server. */
export const helloAnswer = z.object({
  name: z.string(),
  /** Labels it may take tasks for: the registered ones that it offers. */
  labels: z.array(z.string()),
});
export type HelloAnswer = z.infer<typeof helloAnswer>;

const held = {
  taskId: z.number().int().positive(),
  attempt: z.number().int().min(1).max(1000),
  lease: z.string().regex(/^[\w-]{1,128}$/, "must be the lease of the instruction"),
};

/**
 * A beat waits at most this long, even if the lease would allow more: proxies close connections that are idle for a
 * minute.
 */
export const beatWaitMaxMs = 30_000;

/**
 * Renews the lease at once, but is answered only when the task must stop or after `waitMs`, so that a cancel reaches
 * the runner within milliseconds.
 */
export const beatRequest = z.object({ ...held, waitMs: z.number().int().min(0).max(beatWaitMaxMs) });

const wireLine = z.object({
  stage: z.enum(logStages),
  /** Absent: the line belongs to no step. */
  step: stepName.optional(),
  at: z.iso.datetime(),
  text: saidText(70_000),
});
export type WireLine = z.infer<typeof wireLine>;

/** Much more than the log of any task. */
const logIndexMax = 1_000_000_000;

export const logRequest = z.object({
  ...held,
  from: z.number().int().min(0).max(logIndexMax),
  lines: z.array(wireLine).max(5000),
});

export const stageRequest = z.object({
  ...held,
  stage: z.enum(["checkout", ...stageNames]),
  /** Absent: of the checkout, and of a runner of version 1.0 that has a task from before the upgrade. */
  step: stepName.optional(),
  state: z.enum(["running", "success", "failed", "canceled", "timeout"]),
  exitCode: z.int32().nullable(),
  /** After checkout: the commit and the first line of its message. The commit becomes part of URLs. */
  commit: z.string().refine(isCommit, "must be a full commit id of 40 or 64 hex digits").optional(),
  message: saidText(10_000).optional(),
  /** The serving release is about to be ended or replaced. */
  endsPrevious: z.boolean().optional(),
});

/** The previous release is restored because this task failed. `unneeded`: it never stopped serving. */
export const rollbackRequest = z.object({
  ...held,
  /** The task that built the release. */
  toTaskId: z.number().int().positive(),
  state: z.enum(["running", "success", "failed", "unneeded"]),
  ...saidReason,
  /** Of a success: whether a check or a living process shows that it serves. */
  isProven: z.boolean().optional(),
});

/** What the file of the checkout says. */
export const pipelineRequest = z.object({ ...held, pipeline: pipelineSchema });

const keptWorkspace = z.object({
  taskId: z.number().int().positive(),
  /** Null: not measured. */
  bytes: z.number().int().min(0).nullable(),
  /** Of its files, if it was sealed. */
  digest: treeDigestText.optional(),
});

export const finishRequest = z.object({
  ...held,
  state: z.enum(["success", "failed", "canceled", "timeout"]),
  ...saidReason,
  /** The releases of the project that this runner keeps now. */
  kept: z.array(keptWorkspace).max(1000).optional(),
  /** What the services in containers run, by service: the id of the image, which does not change. */
  images: z.record(serviceNameSchema, saidText(200)).optional(),
  /** The built workspace of an approved deploy is gone, and nothing was deployed. */
  isWorkspaceLost: z.boolean().optional(),
});

/** Everything that runs on this runner, complete in each call: at each change, and every ten seconds. */
export const servicesRequest = z.object({
  services: z.array(serviceReport).max(1000),
  /** What projects take on its disk, each once after it was measured. */
  disk: z
    .array(diskUse.extend({ projectId: z.number().int().positive() }))
    .max(1000)
    .optional(),
});
export type ServicesRequest = z.infer<typeof servicesRequest>;

/** A part of a service's output that somebody reads. */
export const wantedOutput = z.object({
  id: z.string(),
  projectId: z.number().int(),
  name: serviceNameSchema,
  /** Where to begin; null: at the end (backward) or at the beginning (forward). */
  position: z.number().int().min(0).nullable(),
  direction: z.enum(["forward", "backward"]),
  maxLines: z.number().int().min(1).max(2000),
  /** Only lines that contain this text, whatever its case; empty: all. */
  search: z.string().max(200),
  /** If there is nothing, the answer waits this long for new output. */
  waitMs: z.number().int().min(0).max(25_000),
});
export type WantedOutput = z.infer<typeof wantedOutput>;

/** A release that this runner keeps, or the data of a project whose services it has stopped, for another runner. */
export const wantedTransfer = z.object({
  id: z.string().regex(/^[\w-]{1,64}$/),
  kind: z.enum(["release", "data"]),
  projectId: z.number().int(),
  taskId: z.number().int(),
  attempt: z.number().int(),
  /** The folder of the runner that gets it. A release is sent only if it is the same here. */
  root: z.string(),
});
export type WantedTransfer = z.infer<typeof wantedTransfer>;

/** A call that waits like a claim; its answer is all that a server can ask besides run_task. */
export const wantedAnswer = z.object({
  wanted: z.array(wantedOutput).max(100),
  transfers: z.array(wantedTransfer).max(100).default([]),
});
export type WantedAnswer = z.infer<typeof wantedAnswer>;

/**
 * A transfer is one stream: tar, compressed with zstd. It goes through the server in parts of at most this size, each one call, so
 * that an interrupted call is repeated and no proxy or server has to accept a body of any size. A line of 20 KB/s is fast enough.
 */
export const transferPartBytes = 2 * 1024 * 1024;
/** How long such a call may take. */
export const transferPartTimeoutMs = 120_000;
/** A holder sends a part at the latest after this time, an empty one if there is nothing yet. */
export const transferBeatMs = 20_000;

/** A task asks for what its instruction names. */
export const transferRequest = z.object({
  ...held,
  kind: z.enum(["release", "data"]),
  /** The folder of this runner. */
  root: z.string().max(4096),
});
export const partRequest = z.object({
  ...held,
  id: z.string().max(64),
  part: z.number().int().min(0),
});

/** What becomes of a call about a transfer. A part itself is answered as bytes. */
export const transferAnswer = z.discriminatedUnion("state", [
  z.object({ state: z.literal("begun"), id: z.string() }),
  z.object({ state: z.literal("waiting") }),
  z.object({
    state: z.literal("complete"),
  }),
  /** `isFinal`: asking again would not help. */
  z.object({ state: z.literal("failed"), ...saidReason, isFinal: z.boolean() }),
]);
export type TransferAnswer = z.infer<typeof transferAnswer>;

/** The holder has sent all parts, or cannot send them. */
export const transferEndRequest = z.union([
  z.object({
    id: z.string().max(64),
    parts: z.number().int().min(0),
  }),
  z.object({ id: z.string().max(64), isFinal: z.boolean(), ...saidReason }),
]);
export type TransferEndRequest = z.infer<typeof transferEndRequest>;

/** In the order of the output. `next`: where the next call in the same direction begins. */
export const outputTextRequest = z.object({
  id: z.string().max(64),
  lines: z.array(z.object({ position: z.number().int().min(0), text: saidText(20_000) })).max(2000),
  next: z.number().int().min(0),
  /** The first and the next position that exist. */
  from: z.number().int().min(0),
  to: z.number().int().min(0),
  /** Where something happened: a release began, the service was started again, a part is missing. */
  marks: z
    .array(
      z.object({
        position: z.number().int().min(0),
        at: z.iso.datetime(),
        kind: z.enum(["release", "start", "cut"]),
        taskId: z.number().int().nullable(),
      }),
    )
    .max(2000),
  /** The runner has no such service, or cannot read its output. */
  fault: saidText(2000).optional(),
});
export type OutputTextRequest = z.infer<typeof outputTextRequest>;

export type Held = Pick<BeatRequest, "taskId" | "attempt" | "lease">;
export type BeatRequest = z.infer<typeof beatRequest>;
export type LogRequest = z.infer<typeof logRequest>;
export type StageRequest = z.infer<typeof stageRequest>;
export type FinishRequest = z.infer<typeof finishRequest>;
export type PipelineRequest = z.infer<typeof pipelineRequest>;
export type RollbackRequest = z.infer<typeof rollbackRequest>;

/** Response to beat, log, stage, pipeline and finish. `ack` is the next log index that the server expects. */
export const heldAnswer = z.object({
  continue: z.boolean(),
  why: z.enum(["canceled", "timeout", "superseded", "lease_lost"]).optional(),
  ack: z.number().int().optional(),
  /** What the instruction lacked, because a file says it. */
  run: runTask.pick({ stages: true, services: true, folders: true, release: true }).optional(),
  /** Why the pipeline of the file is refused, by its fields. */
  faults: z.array(z.object({ path: z.array(z.union([z.string(), z.number()])), ...saidReason })).optional(),
});
export type HeldAnswer = z.infer<typeof heldAnswer>;

/** The server decides about a silent runner after a whole lease; the runner gives up earlier. */
export function timingOf(leaseMs: number): { beatEveryMs: number; giveUpAfterMs: number } {
  return { beatEveryMs: Math.round(leaseMs / 4), giveUpAfterMs: Math.round((leaseMs * 3) / 4) };
}

/**
 * A runner gives up when a quarter of its lease is left; its processes have this part of that quarter to end. They are
 * gone before the server decides, whatever tasks.stopGrace is.
 */
export function lostGraceMs({ giveUpAfterMs }: { giveUpAfterMs: number }): number {
  const quarterMs = giveUpAfterMs / 3;
  return Math.max(quarterMs - 2000, quarterMs / 3);
}

export const runnerPaths = {
  hello: "/api/runner/hello",
  claim: "/api/runner/claim",
  beat: "/api/runner/beat",
  log: "/api/runner/log",
  stage: "/api/runner/stage",
  pipeline: "/api/runner/pipeline",
  finish: "/api/runner/finish",
  rollback: "/api/runner/rollback",
  services: "/api/runner/services",
  outputWanted: "/api/runner/output-wanted",
  outputText: "/api/runner/output-text",
  transfer: "/api/runner/transfer",
  transferPart: "/api/runner/transfer-part",
  transferSent: "/api/runner/transfer-sent/:id/:part",
  transferEnd: "/api/runner/transfer-end",
} as const;

/**
 * A runner holds at most this many tasks beyond its concurrency. The server hands out fewer: tasks whose fetch waits for a Git
 * host, and rollbacks to releases that the runner keeps.
 */
export const maxBeyondConcurrency = 32;

/** How long the server holds a claim open at most before it answers 204. */
export const claimWaitMs = 25_000;
