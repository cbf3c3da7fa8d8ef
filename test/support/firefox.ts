import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { installPackages, ServiceUnavailable } from "./service-install.ts";

/** The path of a Firefox; each test starts it itself. */
export async function findFirefox(): Promise<string> {
  const found = find() ?? ((await installPackages("firefox-esr")) ? find() : undefined);
  if (found) return found;
  throw new ServiceUnavailable(
    "Firefox is not installed: install the package `firefox-esr`, or set SLIPWAY_TEST_FIREFOX to an executable.",
  );
}

function find(): string | undefined {
  return Bun.which("firefox-esr") ?? Bun.which("firefox") ?? undefined;
}

/** One page of Firefox, driven by WebDriver BiDi: Playwright cannot drive the Firefox of a distribution. */
export interface FirefoxPage extends AsyncDisposable {
  /** Uncaught errors of the page, so far. */
  faults: string[];
  go(url: string): Promise<void>;
  resize(width: number, height: number): Promise<void>;
  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T>;
  /** Waits until an element is shown whose text contains `text`, and returns an expression for it. */
  shown(selector: string, text?: string): Promise<string>;
  click(selector: string, text?: string): Promise<void>;
  /** Types into the field. */
  type(selector: string, text: string): Promise<void>;
}

interface Answer {
  id?: number;
  type?: string;
  method?: string;
  params?: { level?: string; type?: string; text?: string };
  result?: unknown;
  error?: string;
  message?: string;
}

/** No first page, no updates, no calls to Mozilla. */
const preferences = {
  "app.update.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.homepage_override.mstone": "ignore",
  "datareporting.policy.dataSubmissionEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "remote.log.level": "Error",
  "intl.accept_languages": "en-US",
};

export async function startFirefox(executable: string): Promise<FirefoxPage> {
  const profile = mkdtempSync(join(tmpdir(), "slipway-firefox-"));
  const lines = Object.entries(preferences).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
  );
  writeFileSync(join(profile, "user.js"), lines.join("\n"));
  const flags = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"];
  const child = Bun.spawn([executable, ...flags, "about:blank"], {
    env: { ...process.env, HOME: profile },
    stdout: "ignore",
    stderr: "pipe",
  });
  const socket = new WebSocket(`${await addressIn(child.stderr)}/session`);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  const faults: string[] = [];
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  socket.onmessage = ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer;
    if (answer.method === "log.entryAdded" && answer.params?.type === "javascript")
      if (answer.params.level === "error") faults.push(answer.params.text ?? "");
    const asked = waiting.get(answer.id ?? -1);
    if (asked === undefined) return;
    waiting.delete(answer.id ?? -1);
    if (answer.type === "error") asked.reject(new Error(`${answer.error}: ${answer.message}`));
    else asked.resolve(answer.result);
  };
  let lastId = 0;
  const call = <T>(method: string, params: object): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.set(++lastId, { resolve: (value) => resolve(value as T), reject });
      socket.send(JSON.stringify({ id: lastId, method, params }));
    });
  await call("session.new", { capabilities: {} });
  await call("session.subscribe", { events: ["log.entryAdded"] });
  const tree = await call<{ contexts: { context: string }[] }>("browsingContext.getTree", {});
  const context = tree.contexts[0]?.context ?? "";

  async function evaluate<T>(expression: string): Promise<T> {
    const { result } = await call<{ result: { value?: unknown } }>("script.evaluate", {
      expression: `JSON.stringify(${expression})`,
      target: { context },
      awaitPromise: true,
    });
    return JSON.parse(String(result.value)) as T;
  }
  const page: FirefoxPage = {
    faults,
    evaluate,
    go: (url) => call("browsingContext.navigate", { context, url, wait: "complete" }),
    resize: (width, height) => call("browsingContext.setViewport", { context, viewport: { width, height } }),
    async shown(selector, text = "") {
      const found = `[...document.querySelectorAll(${JSON.stringify(selector)})].find((element) => element.textContent.includes(${JSON.stringify(text)}) && element.checkVisibility())`;
      await eventually(`${selector} with “${text}” is shown`, () => evaluate(`${found} !== undefined`));
      return found;
    },
    async click(selector, text) {
      await evaluate(`(${await page.shown(selector, text)}.click(), true)`);
    },
    async type(selector, text) {
      await evaluate(`(${await page.shown(selector)}.focus(), true)`);
      const actions = [...text].flatMap((value) => [
        { type: "keyDown", value },
        { type: "keyUp", value },
      ]);
      await call("input.performActions", { context, actions: [{ type: "key", id: "keyboard", actions }] });
    },
    async [Symbol.asyncDispose]() {
      socket.close();
      child.kill("SIGKILL");
      await child.exited;
      rmSync(profile, { recursive: true, force: true });
    },
  };
  return page;
}

/** The address that Firefox prints when it can be driven. */
async function addressIn(output: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true });
    const address = /WebDriver BiDi listening on (ws:\S+)/.exec(text)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error(`Firefox ended at its start: ${text.slice(-1000)}`);
}
