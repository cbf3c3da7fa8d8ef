import { secret, setting } from "./declare-setting.ts";
import { boolean, listOf, oneOf, type Setting, text, url } from "./setting-kinds.ts";

/** Settings of the execution side: the local runner of `start`, and `slipway runner`. */
export const runnerSettings = {
  "runner.enabled": setting(boolean, true, "Whether `start` runs a local runner."),
  "runner.dir": setting(
    text,
    undefined,
    "Folder of clones, workspaces and caches. Unset: `<data.dir>/runner`; if that lies in the program's own folder, `slipway/runner-…` in `$XDG_STATE_HOME`, in `~/.local/state`, or for root in `/var/lib`, so that scripts do not find the program's package.",
  ),
  "runner.workspaces": setting(
    oneOf("live", "none"),
    "live",
    "Which workspaces stay: `live` keeps that of a project's last successful task, `none` keeps none.",
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
  "runner.alsoUnlabelled": setting(
    boolean,
    false,
    "Whether a runner with labels also takes projects without labels.",
  ),
} satisfies Record<string, Setting<unknown>>;
