import { secret, setting } from "./declare-setting.ts";
import {
  boolean,
  bytes,
  days,
  decimal,
  integer,
  type Kind,
  listOf,
  oneOf,
  positiveBytes,
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

/** A range of ports, as `20000-29999`. */
const portRange: Kind<{ first: number; last: number }> = {
  name: "range of ports such as `20000-29999`",
  read(raw) {
    const [first = 0, last = 0] = (/^(\d{4,5})-(\d{4,5})$/.exec(String(raw).trim()) ?? [])
      .slice(1)
      .map(Number);
    if (first >= 1024 && last <= 65_535 && last - first >= 9) return { value: { first, last } };
    return { wrong: "must be a range of at least ten ports from 1024 to 65535, such as 20000-29999" };
  },
  write: ({ first, last }) => `${first}-${last}`,
};

/** A folder of the machine, as `/srv/tools` or `/srv/www:rw`. */
const sandboxPath: Kind<{ path: string; isWritable: boolean }> = {
  name: "folder such as `/srv/tools`, or `/srv/www:rw` if scripts may write to it",
  read(raw) {
    const [, path, mode] =
      (typeof raw === "string" && /^(\/[^:,]+?)\/?(?::(ro|rw))?$/.exec(raw.trim())) || [];
    if (path === undefined || path.split("/").includes(".."))
      return {
        wrong: "must be an absolute path such as /srv/tools, or /srv/www:rw if scripts may write to it",
      };
    return { value: { path, isWritable: mode === "rw" } };
  },
  write: ({ path, isWritable }) => (isWritable ? `${path}:rw` : path),
};

/** A setting of 1.0 that has no meaning any more. */
const removedUsers: Kind<never> = {
  name: "no value",
  read: () => ({
    wrong:
      "is no longer supported: remove it; sandboxes separate projects, and runner.user names the one account",
  }),
};

/** Settings of the execution side: the local runner of `start`, and `slipway runner`. */
export const runnerSettings = {
  "runner.enabled": setting(boolean, true, "Whether `start` runs a local runner."),
  "runner.dir": setting(
    text,
    undefined,
    "Folder of clones, workspaces and caches. Unset: `<data.dir>/runner`; if that lies in the program's own folder, `slipway/runner-…` in `$XDG_STATE_HOME`, in `~/.local/state`, or for root in `/var/lib`, so that scripts do not find the program's package.",
  ),
  "runner.user": setting(
    text,
    undefined,
    "User that runs scripts, for a runner that runs as root. Unset: `slipway-run`, which the runner creates if the machine has none. A runner of another user runs scripts as that user.",
  ),
  "runner.isolation": setting(
    oneOf("auto", "sandbox", "none"),
    "auto",
    "Where steps of build and deploy run that have no container. `auto`: in a sandbox, if the machine allows it (bubblewrap 0.8 or newer); the log of the runner says what is missing. `sandbox`: the runner does not start without it. `none`: without a sandbox.",
  ),
  "runner.sandboxPaths": setting(
    listOf(sandboxPath),
    [],
    "Folders of the machine that sandboxes show besides /usr, /opt and /etc, such as those of pyenv, cargo or nvm.",
  ),
  "runner.hostSteps": setting(
    boolean,
    false,
    "Whether steps of deploy and start that an administrator has marked with `host` run outside of the sandbox, as the user of the runner: for `systemctl restart` or files of a web server.",
  ),
  "runner.scriptUser": setting(text, undefined, "Old name of `runner.user`."),
  "runner.scriptUsers": setting(removedUsers, undefined, "Removed: sandboxes separate projects."),
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
  "runner.projectQuota": setting(
    bytes,
    0,
    "Most that the releases and the data of one project may take; 0 means no limit. A deploy whose release exceeds it fails before its stage deploy. The limit of a project may be smaller.",
  ),
  "runner.ports": setting(
    portRange,
    "20000-29999",
    "Ports that services get as `$PORT`. Nothing else on the machine should listen on them.",
  ),
  "runner.proxy": setting(
    oneOf("caddy", "nginx", "none"),
    undefined,
    "The proxy of this machine for the routes of services. Unset: Caddy 2.8 or newer, if the machine has it. `none`: the runner serves no routes.",
  ),
  "runner.caddy": setting(
    text,
    undefined,
    "Admin address of a Caddy that runs for routes alone and whose configuration the runner replaces: the path of a Unix socket, or a URL such as `http://127.0.0.1:2019`. Unset: the runner starts a Caddy of its own.",
  ),
  "runner.caddyProgram": setting(text, undefined, "The program of Caddy. Unset: `caddy` in the PATH."),
  "runner.httpPort": setting(integer(1, 65_535), 80, "Port on which the proxy serves http."),
  "runner.httpsPort": setting(integer(1, 65_535), 443, "Port on which Caddy serves https."),
  "runner.acme": setting(
    text,
    "",
    "Address of the ACME directory of the authority for `tls: auto`. Empty: the authority that Caddy chooses, which is Let's Encrypt.",
  ),
  "runner.acmeEmail": setting(text, "", "Address that the authority may write to about certificates."),
  "runner.acmeRoots": setting(
    text,
    "",
    "File with the certificates that the address of `runner.acme` is verified by. Empty: those of the machine.",
  ),
  "runner.nginx": setting(
    text,
    undefined,
    "With `runner.proxy: nginx`: a folder that the runner can write to and whose `*.conf` nginx includes in its `http` block, such as `/etc/nginx/conf.d`.",
  ),
  "runner.nginxReload": setting(text, "nginx -s reload", "Command that lets nginx read its files again."),
  "runner.serviceOutput": setting(
    positiveBytes,
    "100 MiB",
    "Most output of one service that is kept. The oldest part goes first.",
  ),
  "runner.serviceOutputAge": setting(days(1), 14, "How long the output of services is kept."),
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
