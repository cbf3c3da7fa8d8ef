import { z } from "zod";
import { ruleText } from "../reason/rule-text.ts";
import { strict, text } from "../reason/schema-forms.ts";

/*
 * A service is a command that stays: the runner starts it, checks it, and starts it again when it ends. Its fields are here;
 * the pipeline has services by name, and the store has what is known of each one that runs.
 */

const maxCommand = 100_000;
const maxSeconds = 3600;

/** As people write it: 30, "30s", "5m". Stored in seconds. */
export const secondsText = /^(\d{1,7})(s|m|h)?$/;

export const serviceNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, ruleText("step_name"))
  .meta({ description: "Name of the service, unique in its project.", example: "web" });

const seconds = (description: string) =>
  z.number().int().min(0).max(maxSeconds).meta({ description, example: 30 });

/** Exactly one of `http`, `tcp` and `command` is set. */
const checkFields = {
  http: text(2000).meta({
    description: "A path, asked at the service's port, or a whole URL; $PORT is filled in.",
    example: "/healthz",
  }),
  tcp: text(300)
    .regex(/^(([\w.-]+|\[[0-9a-f:]+\]):)?(\d{1,5}|\$PORT)$/i, ruleText("check_tcp"))
    .meta({ description: "A port, or host:port, that accepts connections.", example: "$PORT" }),
  command: text(10_000).meta({ description: "A command that ends with 0 where the service runs." }),
  expect: text(1000).meta({
    description: "Text that the response to `http` contains.",
    example: "$CI_COMMIT",
  }),
  within: seconds("How long a start may take until the check passes."),
};

export const serviceCheckSchema = z.object(checkFields).meta({ id: "ServiceCheck" });
export type ServiceCheck = z.infer<typeof serviceCheckSchema>;

export const restartRules = ["always", "on-failure", "never"] as const;

const serviceFields = {
  command: text(maxCommand).meta({
    description: "Runs in the foreground, in a shell, in the folder of the release.",
    example: "node dist/server.js",
  }),
  background: z.boolean().meta({
    description:
      "The command may end while its processes go on: the service lives as long as one of them. For start scripts of version 1.0.",
  }),
  directory: text(500)
    .refine((path) => !path.startsWith("/") && !path.split("/").includes(".."), ruleText("folder_outside"))
    .meta({ description: "Folder of the repository where the command runs; empty: its root." }),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, ruleText("variable_name")), text(32_768))
    .meta({ description: "Variables of this service alone, besides those of the project." }),
  port: z.union([z.literal("$PORT"), z.literal("none"), z.number().int().min(1).max(65_535)]).meta({
    description:
      "`$PORT`: the runner chooses one, and the service starts beside the one that it replaces. A number, or `none`: the one that it replaces ends first.",
  }),
  check: serviceCheckSchema.nullable().meta({
    description:
      "Passes before a deploy succeeds, and is repeated every 30 s. Null: the service must live for 5 s.",
  }),
  restart: z.enum(restartRules).meta({ description: "Whether it is started again when it ends by itself." }),
  limits: z
    .object({
      memoryMb: z.number().int().min(4).nullable(),
      cpus: z.number().min(0.01).nullable(),
      processes: z.number().int().min(1).nullable(),
    })
    .meta({ description: "Null: those of the project." }),
  drain: seconds("How long it keeps its connections after another release has taken its place."),
  stopGrace: seconds("Between SIGTERM and SIGKILL."),
  image: text(300).meta({ description: "Container image; empty: the project's." }),
  network: z.enum(["bridge", "none"]),
  switch: text(maxCommand).meta({
    description:
      "Runs when the service is healthy beside the one that it replaces, to point a proxy to its $PORT.",
  }),
  switchOnHost: z.boolean().meta({
    description:
      "Whether `switch` runs outside of the sandbox, as the runner's user. Only an administrator may set it.",
  }),
};

export const serviceSchema = z.object(serviceFields).meta({ id: "Service" });
export type Service = z.infer<typeof serviceSchema>;

export const serviceDefaults: Omit<Service, "command"> = {
  background: false,
  directory: "",
  env: {},
  port: "$PORT",
  check: null,
  restart: "always",
  limits: { memoryMb: null, cpus: null, processes: null },
  drain: 30,
  stopGrace: 10,
  image: "",
  network: "bridge",
  switch: "",
  switchOnHost: false,
};

/**
 * `starting`: its check has not passed yet. `restarting`: it ended and is started again. `down`: it ended and is not started
 * again. `stopped`: a person stopped it. `unknown`: its runner is away; the server says this, a runner never does.
 */
export const serviceStates = [
  "starting",
  "serving",
  "unhealthy",
  "restarting",
  "down",
  "stopped",
  "unknown",
] as const;
export type ServiceState = (typeof serviceStates)[number];

/** What a runner reports of one service. */
export const serviceReport = strict({
  projectId: z.number().int().positive(),
  name: serviceNameSchema,
  /** The task that built the release that it runs. */
  taskId: z.number().int().positive(),
  state: z.enum(serviceStates).exclude(["unknown"]),
  /** When the state began, by the clock of the runner's machine. */
  since: z.iso.datetime(),
  /** When the runner last started it for this release: one more start by a person begins at 0 restarts. */
  startedAt: z.iso.datetime(),
  restarts: z.number().int().min(0),
  /** When it last ended by itself, the last five times, oldest first. */
  exits: z.array(z.iso.datetime()).max(5),
  /** An exit code, or the name of a signal; null: it has not ended. */
  lastExit: text(32).nullable(),
  /** Why it is unhealthy: what the check found last. Empty otherwise. */
  fault: text(2000),
  /** The last lines of output before it ended, masked. */
  lastLines: text(8000),
  port: z.number().int().nullable(),
  memoryBytes: z.number().int().min(0).nullable(),
  /** Share of one processor since the last report. */
  cpu: z.number().min(0).nullable(),
  /** The first and the next position of its output. */
  output: strict({ from: z.number().int().min(0), to: z.number().int().min(0) }),
});
export type ServiceReport = z.infer<typeof serviceReport>;
