import { z } from "zod";
import { newReason, type Reason } from "../../reason/reason.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { httpUrl, strict, text } from "../../reason/schema-forms.ts";
import { given } from "./given.ts";
import { imageSchema } from "./image-name.ts";
import { completeRoute, requestFigures, routeFaults, routeReport, routeSchema, routesBody } from "./route.ts";

/*
 * A service is a command that stays: the runner starts it, checks it, and starts it again when it ends. Its fields are here;
 * the pipeline has services by name, and the store has what is known of each one that runs.
 */

const maxCommand = 100_000;
const maxSeconds = 3600;

/** As people write it. Stored in seconds. */
const secondsText = /^(\d{1,7})(s|m|h)$/;
const secondsOfUnit = { s: 1, m: 60, h: 3600 } as const;

export const serviceNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, ruleText("step_name"))
  .meta({ description: "Name of the service, unique in its project.", example: "web" });

const seconds = (description: string) =>
  z.number().int().min(0).max(maxSeconds).meta({ description, example: 30 });

/** In bodies: seconds, or "30s", "5m", "1h". */
const secondsBody = (stored: z.ZodNumber) =>
  z.union([
    stored,
    z
      .string()
      .regex(secondsText, ruleText("seconds_text"))
      .transform((sent) => {
        const [, amount, unit] = secondsText.exec(sent) ?? [];
        return Number(amount) * (secondsOfUnit[unit as keyof typeof secondsOfUnit] ?? 1);
      })
      .pipe(stored),
  ]);

/** Where the port of a service is filled in. */
const portText = /\$(PORT\b|\{PORT\})/;

/** Exactly one of `http`, `tcp` and `command` is set; the others are empty. */
const checkFields = {
  http: text(2000)
    .refine(
      (value) =>
        value === "" || value.startsWith("/") || httpUrl.safeParse(value.replace(portText, "1")).success,
      ruleText("check_http"),
    )
    .meta({
      description: "A path, asked at the service's port, or a whole URL; $PORT is filled in.",
      example: "/healthz",
    }),
  tcp: text(300)
    .regex(/^((([\w.-]+|\[[0-9a-f:.]+\]):)?(\d{1,5}|\$PORT|\$\{PORT\}))?$/i, ruleText("check_tcp"))
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

export const checkDefaults: ServiceCheck = { http: "", tcp: "", command: "", expect: "", within: 60 };

export const checkBody = strict({ ...checkFields, within: secondsBody(checkFields.within) })
  .partial()
  .nullable();
type CheckBody = NonNullable<z.infer<typeof checkBody>>;

export function completeCheck(sent: CheckBody): ServiceCheck {
  return { ...checkDefaults, ...given(sent) };
}

export const restartRules = ["always", "on-failure", "never"] as const;

export const limitFields = {
  memoryMb: z.number().int().min(4).nullable(),
  cpus: z.number().min(0.01).nullable(),
  processes: z.number().int().min(1).nullable(),
};

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
  limits: z.object(limitFields).meta({ description: "Null: those of the project." }),
  drain: seconds("How long it keeps its connections after another release has taken its place."),
  stopGrace: seconds("Between SIGTERM and SIGKILL."),
  image: imageSchema,
  network: z
    .enum(["bridge", "none"])
    .meta({ description: "`none`: the service has no network, which needs a sandbox or a container." }),
  switch: text(maxCommand).meta({
    description:
      "Runs when the service is healthy beside the one that it replaces, to point a proxy to its $PORT.",
  }),
  switchOnHost: z.boolean().meta({
    description:
      "Whether `switch` runs outside of the sandbox, as the runner's user. Only an administrator may set it.",
  }),
  routes: z.array(routeSchema).meta({
    description: "Where users reach it, through the proxy of the runner. It needs a port.",
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
  routes: [],
};

export const serviceBodyFields = {
  ...serviceFields,
  check: checkBody,
  limits: strict(limitFields).partial(),
  drain: secondsBody(serviceFields.drain),
  stopGrace: secondsBody(serviceFields.stopGrace),
  routes: routesBody,
};

/** What a request sends of a service: omitted fields have their defaults. */
export const serviceBody = strict(serviceBodyFields).partial();
export type ServiceBody = z.infer<typeof serviceBody>;

export function completeService({ check = null, limits = {}, routes = [], ...sent }: ServiceBody): Service {
  return {
    command: "",
    ...serviceDefaults,
    ...given(sent),
    check: check && completeCheck(check),
    limits: { ...serviceDefaults.limits, ...given(limits) },
    routes: routes.map(completeRoute),
  };
}

/** What is wrong with a value whose fields are valid by themselves. */
export interface FieldFault {
  path: (string | number)[];
  message: Reason;
}

export function serviceFaults(services: (Service & { name: string })[]): FieldFault[] {
  return services.flatMap((service, index) => {
    const { name, command, port, check, env, routes } = service;
    const earlierRoutes = services.slice(0, index).flatMap((each) => each.routes);
    const other = services.slice(0, index).find((each) => typeof port === "number" && each.port === port);
    const faults: FieldFault[] = [
      ...(command.trim() === "" ? [{ path: ["command"], message: newReason("blank") }] : []),
      ...(other ? [{ path: ["port"], message: newReason("port_repeated", { name: other.name }) }] : []),
      ...(service.switch.trim() !== "" && port !== "$PORT"
        ? [{ path: ["switch"], message: newReason("switch_alone") }]
        : []),
      ...Object.keys(env)
        .filter((variable) => variable.startsWith("CI_"))
        .map((variable) => ({ path: ["env", variable], message: newReason("variable_reserved") })),
      ...(check === null ? [] : checkFaults(check, port)).map(({ path, message }) => ({
        path: ["check", ...path],
        message,
      })),
      ...(routes.length > 0 && port === "none"
        ? [{ path: ["routes"], message: newReason("route_port") }]
        : []),
      ...routeFaults(routes, earlierRoutes).map(({ path, message }) => ({
        path: ["routes", ...path],
        message,
      })),
    ];
    return faults.map(({ path, message }) => ({ path: [name, ...path], message }));
  });
}

/** `port`: of the service; steps have none. */
export function checkFaults(
  { http, tcp, command, expect }: ServiceCheck,
  port: Service["port"],
): FieldFault[] {
  const asked = [http, tcp, command].filter((each) => each.trim() !== "");
  if (asked.length !== 1) return [{ path: [], message: newReason("check_one_of") }];
  if (http.startsWith("/") && port === "none")
    return [{ path: ["http"], message: newReason("check_path_port") }];
  if (expect !== "" && http === "") return [{ path: ["expect"], message: newReason("check_expect") }];
  return [];
}

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
  routes: z.array(routeReport).max(400).default([]),
  /** Of the last finished minute, sent once; null: nothing new. */
  requests: requestFigures.nullable().default(null),
});
export type ServiceReport = z.infer<typeof serviceReport>;
