import { commit, genericPush, type HostRow, hmac, hosts } from "./recorded-hosts.ts";
import { runnerByHand } from "./runner-by-hand.ts";

/** Values that a test needs and the program stores only as hashes. */
export interface Facts {
  /** When the program was stopped: tests move all stored times by the time since. */
  recordedAt: number;
  /** The data folder at that time; a sample's clone address names it. */
  dataDir: string;
  passwords: Record<"admin" | "ann", string>;
  sessions: Record<"admin" | "ann", string>;
  apiTokens: Record<"admin" | "read" | "ann", string>;
  runnerTokens: Record<"free" | "linux" | "busy", string>;
  pushCode: string;
  secrets: Record<string, string>;
  ids: Record<string, number>;
  tasks: Record<string, number>;
  hooks: RecordedHook[];
  /** The sentences that tell why tasks ended and what was decided about deliveries, by id. */
  reasons: Record<"tasks" | "deliveries" | "traces", Record<number, string>>;
}

/** A delivery that the recorded program accepted, byte for byte. */
export interface RecordedHook {
  provider: string;
  projectId: number;
  path: string;
  headers: Record<string, string>;
  body: string;
}

type Json = Record<string, unknown>;

/** A client of the program that is recorded. */
function clientOf(url: string, token: string) {
  return async <T = Json>(method: string, path: string, body?: unknown, wanted = [200, 201, 202, 204]) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!wanted.includes(response.status)) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  };
}

async function eventually(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; await Bun.sleep(100)) if (await isSo()) return;
  throw new Error(`${what}: not within 30 s`);
}

export async function signIn(url: string, username: string, password: string): Promise<string> {
  const { token } = await clientOf(url, "")<{ token: string }>("POST", "/api/auth/login", {
    username,
    password,
  });
  return token;
}

/** A sample project that the local runner deployed. */
export async function makeSample(
  url: string,
  password: string,
): Promise<{ projectId: number; taskId: number }> {
  const api = clientOf(url, await signIn(url, "admin", password));
  const sample = await api<{ projectId: number; taskId: number }>("POST", "/api/samples");
  await eventually("the sample is deployed", async () => {
    return (await api<{ state: string }>("GET", `/api/tasks/${sample.taskId}`)).state === "success";
  });
  // The name contains the name of the machine, which must not be recorded.
  const { items } = await api<{ items: { id: number }[] }>("GET", "/api/runners");
  for (const { id } of items) await api("PATCH", `/api/runners/${id}`, { name: "local" });
  return sample;
}

export interface SceneOptions {
  url: string;
  dataDir: string;
  password: string;
  sample: { projectId: number; taskId: number };
  /** Runs a project with the real runner and waits for its end. */
  runWithRunner: (token: string, run: () => Promise<() => Promise<boolean>>) => Promise<void>;
  repositoryUrl: string;
  /** Records calls and responses of an API client. */
  recordClient: (token: string, ids: Record<string, number>) => Promise<void>;
}

/** Fills a running program with some of everything that an installation may contain. */
export async function makeScene(options: SceneOptions): Promise<Facts> {
  const { url, password } = options;
  const session = await signIn(url, "admin", password);
  const api = clientOf(url, session);
  const annPassword = "the recorded password of ann";
  const make = async (path: string, body: Json) => (await api<{ id: number }>("POST", path, body)).id;
  const ann = await make("/api/users", { username: "ann", password: annPassword });
  const bob = await make("/api/users", { username: "bob", password: "the recorded password of bob" });
  await make("/api/users", { username: "eve", password: "the recorded password of eve", role: "admin" });
  await api("PATCH", `/api/users/${bob}`, { disabled: true });
  await clientOf(url, "")("POST", "/api/auth/login", { username: "ann", password: "wrong" }, [401]);
  const group = await make("/api/groups", { name: "shops" });
  await api("PUT", `/api/groups/${group}/members/${ann}`, { permission: "manage" });
  await api("PUT", `/api/groups/${group}/members/${bob}`, { permission: "view" });
  const newToken = (call: typeof api, name: string, scopes: string[], expiresAt: string | null = null) =>
    call<{ token: string }>("POST", "/api/tokens", { name, scopes, expiresAt }).then(({ token }) => token);
  const annSession = await signIn(url, "ann", annPassword);
  const apiTokens = {
    admin: await newToken(api, "all", ["admin"]),
    read: await newToken(api, "look", ["read"], new Date(Date.now() + 90 * 86_400_000).toISOString()),
    ann: await newToken(clientOf(url, annSession), "ci of ann", ["write", "publish"]),
  };
  const newRunner = (name: string, labels: string[]) =>
    api<{ id: number; token: string }>("POST", "/api/runners", { name, labels, concurrency: 8 });
  const [free, linux, busy] = [
    await newRunner("free", []),
    await newRunner("linux", ["linux"]),
    await newRunner("busy", []),
  ];

  const project = (name: string, more: Json = {}) =>
    make("/api/projects", {
      name,
      git: { url: `https://git.example.com/${name.replaceAll(" ", "-")}.git`, ref: "main" },
      stages: { build: { script: "make" }, deploy: { script: "make deploy" } },
      ...more,
    });
  const tasks: Record<string, number> = { sample: options.sample.taskId };
  const run = (id: number, body: Json = {}) => make(`/api/projects/${id}/tasks`, body);
  const real = await project("real runner", {
    git: { url: options.repositoryUrl, ref: "main" },
    stages: {
      build: { script: 'echo "building $DEPLOY_TARGET"' },
      deploy: { script: "echo deployed to $TARGET_SECRET" },
    },
    env: { DEPLOY_TARGET: "recorded" },
  });
  await api("PUT", `/api/projects/${real}/secrets/TARGET_SECRET`, { value: "a masked value" });
  await options.runWithRunner(free.token, async () => {
    tasks.real = await run(real);
    return async () => (await api<{ state: string }>("GET", `/api/tasks/${tasks.real}`)).state === "success";
  });

  const shop = await project("shop", {
    groupId: group,
    stages: {
      build: { script: "npm ci", timeout: 600, directory: "web" },
      deploy: { script: "make deploy" },
      start: {
        script: "make start",
        healthCheck: { type: "http", url: "http://127.0.0.1:3000/", timeoutSeconds: 30 },
      },
    },
    env: { NODE_ENV: "production", EMPTY: "" },
    // Nothing listens there, so that calls wait in the outbox.
    notify: [{ url: "http://127.0.0.1:1/hook", events: [] }],
    supersede: "queued",
  });
  const secrets = { DEPLOY_KEY: "the recorded deploy key", OTHER: "ä value\nof two lines" };
  for (const [name, value] of Object.entries(secrets))
    await api("PUT", `/api/projects/${shop}/secrets/${name}`, { value });
  await api("PUT", `/api/projects/${shop}/credential`, {
    type: "token",
    username: "deploy",
    token: "the recorded clone token",
  });
  await api("PUT", `/api/projects/${shop}/keys/notify-key`, { value: "whsec_cmVjb3JkZWQgc2lnbmluZyBrZXk=" });
  await api("PUT", `/api/projects/${shop}/keys/status-token`, { value: "the recorded status token" });
  await api("PUT", `/api/projects/${shop}/members/${ann}`, { permission: "view" });
  const labelled = await project("labelled", { labels: ["linux"] });

  const keys: Record<string, string> = {};
  const enable = async (id: number, config: Json) => {
    const saved = await api<{ key: string }>("PUT", `/api/projects/${id}/webhook`, {
      enabled: true,
      ...config,
    });
    return `/api/hooks/git/${saved.key}`;
  };
  const deliver = async (path: string, headers: Record<string, string>, body: string) => {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    return (await response.json()) as { status: string; taskId?: number };
  };
  const hooks: RecordedHook[] = [];
  const hookProjects: Record<string, number> = {};
  for (const [provider, host] of Object.entries(hosts)) {
    const id = provider === "github" ? shop : await project(`hook ${provider}`);
    hookProjects[provider] = id;
    const secret = `the ${provider} secret`;
    const path = await enable(id, { ...host.config, secret });
    keys[provider] = path;
    const body = JSON.stringify(host.payload("main", `First push to ${provider}`));
    const headers = host.headers(secret, body);
    const answer = await deliver(path, headers, body);
    if (answer.status !== "accepted")
      throw new Error(`${provider} was not accepted: ${JSON.stringify(answer)}`);
    hooks.push({ provider, projectId: id, path, headers, body });
  }
  await api("PUT", `/api/projects/${shop}/webhook`, {
    secondSecret: "the second secret",
    secondSecretUntil: new Date(Date.now() + 30 * 86_400_000).toISOString(),
  });
  const send = async (
    provider: string,
    branch: string,
    message: string,
    change: Record<string, string> = {},
  ) => {
    const host = hosts[provider] as HostRow;
    const body = JSON.stringify(host.payload(branch, message));
    return deliver(
      keys[provider] ?? "",
      { ...host.headers(`the ${provider} secret`, body), ...change },
      body,
    );
  };
  await send("github", "feature", "Not on a listed branch");
  await send("github", "main", "Typo [skip ci]");
  await send("github", "main", "Wrong secret", { "x-hub-signature-256": `sha256=${"0".repeat(64)}` });
  await send("github", "main", "Ping", { "x-github-event": "ping" });
  const noJson = "{ not json";
  await deliver(
    keys.github ?? "",
    {
      "x-github-event": "push",
      "x-github-delivery": "d",
      "x-hub-signature-256": `sha256=${hmac("the github secret", noJson)}`,
    },
    noJson,
  );
  await deliver(keys.github ?? "", { "x-github-event": "push" }, "x".repeat(70_000));
  await deliver(`/api/hooks/git/${"0".repeat(48)}`, {}, "{}");
  const disabled = await project("disabled hook");
  const disabledPath = await enable(disabled, { provider: "generic" });
  await api("PUT", `/api/projects/${disabled}/webhook`, { enabled: false });
  await deliver(disabledPath, {}, JSON.stringify(genericPush("main", "Nobody listens")));
  await api("PUT", `/api/projects/${disabled}/webhook`, { enabled: true });
  await api("POST", `/api/projects/${disabled}/webhook/reset-key`);
  await deliver(disabledPath, {}, JSON.stringify(genericPush("main", "To the former address")));

  const windowed = await project("windowed");
  const windowPath = await enable(windowed, { provider: "generic", debounceSeconds: 3600 });
  const first = await deliver(windowPath, {}, JSON.stringify(genericPush("main", "Opens the window")));
  await deliver(windowPath, {}, JSON.stringify(genericPush("main", "Merged into it")));

  tasks.windowed = Number(first.taskId);
  const runner = runnerByHand(url, busy.token);
  /** Claims until the wanted task comes, and finishes the others. */
  const claim = async (wanted: number) => {
    for (;;) {
      const held = await runner.claim();
      if (held.taskId === wanted) return held;
      await runner.stages(held);
      await runner.call("finish", held, { state: "success", reason: "" });
    }
  };
  const stateProject = await project("states");
  tasks.lost = await run(stateProject, { ref: "main" });
  const lost = await claim(tasks.lost);
  await runner.call("stage", lost, { stage: "deploy", state: "running", exitCode: null });
  await eventually("the task is lost", async () => {
    return (await api<{ state: string }>("GET", `/api/tasks/${tasks.lost}`)).state === "lost";
  });
  for (const state of ["success", "failed", "timeout"]) {
    tasks[state] = await run(stateProject, { ref: "main", commit: commit(state) });
    const held = await claim(tasks[state]);
    await runner.stages(held);
    await runner.call("finish", held, { state, reason: state === "success" ? "" : `It ended as ${state}.` });
  }
  tasks.canceled = await run(stateProject);
  await api("POST", `/api/tasks/${tasks.canceled}/cancel`);
  tasks.waiting = await run(await project("approved", { deploy: { approval: "required" } }));
  const built = await claim(tasks.waiting);
  await runner.stages(built);
  await runner.call("finish", built, { state: "success", reason: "" });

  const deliveries = await api<{ items: { id: number }[] }>(
    "GET",
    `/api/webhooks/deliveries?projectId=${shop}&status=accepted`,
  );
  const ids = {
    user: ann,
    group,
    project: shop,
    labelled,
    windowed,
    real,
    sample: options.sample.projectId,
    task: tasks.success ?? 0,
    delivery: deliveries.items[0]?.id ?? 0,
    runner: free.id,
  };
  // From here on nothing may take longer than a lease: these tasks are held when the program ends.
  const held: Record<string, number> = {};
  for (const state of ["dispatched", "running", "canceling"]) held[state] = await project(`held ${state}`);
  for (const state of ["dispatched", "running", "canceling"]) {
    tasks[state] = await run(held[state] ?? 0);
    const task = await claim(tasks[state]);
    if (state === "dispatched") continue;
    await runner.call("stage", task, { stage: "checkout", state: "running", exitCode: null });
    await runner.lines(task, ["Cloning", "half of a line of a running build"]);
    if (state === "canceling") await api("POST", `/api/tasks/${tasks[state]}/cancel`);
  }
  tasks.queued = await run(shop, { ref: "main" });
  tasks.queuedLabelled = await run(labelled);
  await options.recordClient(session, ids);
  const { code } = await api<{ code: string }>("POST", "/api/push/codes", { userId: "customer 7" });
  const reasons = await reasonsOf(api);
  return {
    recordedAt: Date.now(),
    dataDir: options.dataDir,
    passwords: { admin: password, ann: annPassword },
    sessions: { admin: session, ann: annSession },
    apiTokens,
    runnerTokens: { free: free.token, linux: linux.token, busy: busy.token },
    pushCode: code,
    secrets: { ...secrets, credential: "the recorded clone token", status: "the recorded status token" },
    ids,
    tasks,
    hooks,
    reasons,
  };
}

export async function reasonsOf(
  api: <T>(method: string, path: string) => Promise<T>,
): Promise<Facts["reasons"]> {
  type List = { items: { id: number; reason: string }[] };
  const tasks = await api<List>("GET", "/api/tasks?pageSize=200");
  const deliveries = await api<List>("GET", "/api/webhooks/deliveries?pageSize=200");
  const traceOf = async ({ id }: { id: number }) => {
    const { trace } = await api<{ trace: { detail: string }[] }>("GET", `/api/webhooks/deliveries/${id}`);
    return [id, trace.map(({ detail }) => detail).join("\n")];
  };
  const byId = ({ items }: List) => Object.fromEntries(items.map(({ id, reason }) => [id, reason]));
  return {
    tasks: byId(tasks),
    deliveries: byId(deliveries),
    traces: Object.fromEntries(await Promise.all(deliveries.items.map(traceOf))),
  };
}
