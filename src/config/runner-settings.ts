import { secret, setting } from "./declare-setting.ts";
import {
  boolean,
  bytes,
  decimal,
  integer,
  type Kind,
  listOf,
  oneOf,
  type Setting,
  text,
  url,
} from "./setting-kinds.ts";

/** One argument of a command; lists of them are written with commas. */
const engineArgument: Kind<string> = {
  name: "argument such as `--runtime=runc`",
  read(raw) {
    if (typeof raw === "string" && /^--[a-z][\w-]*(=[^,\s]+)?$/.test(raw)) return { value: raw };
    return { wrong: "must be one argument such as --runtime=runc, without spaces and commas" };
  },
};

/** A range of user ids that belong to nobody else. Those of the system and of people are lower. */
const userRange: Kind<{ from: number; to: number }> = {
  name: "range of user ids such as `20000-20999`",
  read(raw) {
    const [, first, last] = (typeof raw === "string" && /^(\d{1,10})-(\d{1,10})$/.exec(raw.trim())) || [];
    const [from, to] = [Number(first), Number(last)];
    if (from >= 1000 && to >= from && to < maxUserId) return { value: { from, to } };
    return { wrong: "must be a range of user ids from 1000, such as 20000-20999" };
  },
  write: ({ from, to }) => `${from}-${to}`,
};
/** The last ids have a meaning of their own. */
const maxUserId = 2 ** 32 - 2;

/** Settings of the execution side: the local runner of `start`, and `slipway runner`. */
export const runnerSettings = {
  "runner.enabled": setting(boolean, true, "Whether `start` runs a local runner."),
  "runner.dir": setting(
    text,
    undefined,
    "Folder of clones, workspaces and caches. Unset: `<data.dir>/runner`; if that lies in the program's own folder, `slipway/runner-…` in `$XDG_STATE_HOME`, in `~/.local/state`, or for root in `/var/lib`, so that scripts do not find the program's package.",
  ),
  "runner.scriptUser": setting(
    text,
    undefined,
    "User that runs scripts, for a runner that runs as root: scripts cannot read what only the runner may read. Unset: the runner's own user.",
  ),
  "runner.scriptUsers": setting(
    userRange,
    undefined,
    "User ids that run scripts, for a runner that runs as root: each project gets its own, up to three (protected refs, other refs, forks). They need no accounts, and nothing else may use them. Instead of `runner.scriptUser`.",
  ),
  "runner.engine": setting(
    oneOf("auto", "podman", "docker", "none"),
    "auto",
    "Container engine of stages with an image. `auto`: podman or docker, whichever works.",
  ),
  "runner.engineArguments": setting(
    listOf(engineArgument),
    [],
    "Additional arguments of `podman run` or `docker run`, such as `--runtime=runc`.",
  ),
  "runner.image": setting(
    text,
    undefined,
    "Image for stages that name none. Set: no script of this runner runs outside of a container.",
  ),
  "runner.maxMemory": setting(
    bytes,
    0,
    "Most memory of one stage; 0 means no limit. In a container for all of it, otherwise for each process.",
  ),
  "runner.maxCpus": setting(
    decimal(0, 1024),
    0,
    "Most processors of one stage in a container; 0 means no limit.",
  ),
  "runner.cacheMaxBytes": setting(
    bytes,
    "5 GiB",
    "Largest cache of one project; a larger one is emptied after the task.",
  ),
  "runner.workspaces": setting(
    oneOf("live", "none"),
    "live",
    "Which workspaces stay: `live` keeps that of a project's last successful task, `none` keeps none.",
  ),
  "runner.releases": setting(
    integer(1, 100),
    3,
    "How many releases of a project keep their workspace, so that a rollback needs no build. Needs `runner.workspaces: live`.",
  ),
  "runner.server": setting(
    url("http", "https"),
    undefined,
    "Address of the deploy service, for `slipway runner`.",
  ),
  "runner.token": secret(
    text,
    undefined,
    "Token of this runner, for `slipway runner`. Prefer a file, see runner.tokenFile.",
  ),
  "runner.tokenFile": setting(
    text,
    undefined,
    "File with the token of this runner, read once at start; `/dev/stdin` and `/dev/fd/3` read an open file. Unset: `runner-token` in systemd's `$CREDENTIALS_DIRECTORY`, if it exists.",
  ),
  "runner.labels": setting(
    listOf(text),
    [],
    "For `slipway runner`: the registered labels that this runner offers. For `start`: the labels of the local runner.",
  ),
} satisfies Record<string, Setting<unknown>>;
