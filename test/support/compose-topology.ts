import { rmSync } from "node:fs";
import { join } from "node:path";
import { type Compose, deployFolder, environmentOf } from "./compose.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { main } from "./program.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The services of a compose file as processes: its settings and its load balancer, with other addresses. */
export class ComposeTopology {
  readonly #compose: Compose;
  readonly #variables: Record<string, string>;
  readonly #folder = temporaryFolder("topology");
  readonly #children = new Map<string, Bun.Subprocess>();
  /** The addresses in the file, and those of the processes. */
  readonly #addresses = new Map<string, string>();

  constructor(compose: Compose, variables: Record<string, string>) {
    this.#compose = compose;
    this.#variables = variables;
    const served = Object.keys(compose.services).map((name) => `${name}:8080`);
    for (const name of [...served, "balancer:8081"]) this.#addresses.set(name, `127.0.0.1:${freePort()}`);
  }

  get publicUrl(): string {
    return this.urlOf("balancer");
  }

  /** Where other services publish. */
  get insideUrl(): string {
    return `http://${this.#addresses.get("balancer:8081")}`;
  }

  urlOf(service: string): string {
    return `http://${this.#addresses.get(`${service}:8080`)}`;
  }

  /** Starts a service of Slipway and waits until it is ready. */
  async start(service: string, more: Record<string, string>): Promise<void> {
    this.#launch(service, more);
    await this.#answers(service, "readyz");
  }

  /** Starts a service of Slipway that cannot become ready, and waits until it serves. */
  async startUnready(service: string, more: Record<string, string>): Promise<void> {
    this.#launch(service, more);
    await this.#answers(service, "livez");
  }

  #launch(service: string, more: Record<string, string>): void {
    const { command = [] } = this.#compose.services[service] ?? {};
    this.#spawn(service, [process.execPath, main, ...command], {
      HOME: this.#folder,
      ...this.#environmentOf(service),
      SLIPWAY_SERVER_LISTEN: new URL(this.urlOf(service)).host,
      SLIPWAY_DATA_DIR: join(this.#folder, service),
      ...more,
    });
  }

  async #answers(service: string, check: string): Promise<void> {
    const isOk = async () => (await fetch(`${this.urlOf(service)}/${check}`)).status === 200;
    await eventually(`${service} answers at ${check}`, () => isOk().catch(() => false));
  }

  startBalancer(haproxy: string): void {
    this.#spawn("balancer", [haproxy, "-db", "-f", join(deployFolder, "haproxy.cfg")], {
      ...this.#environmentOf("balancer"),
      PUBLIC_BIND: new URL(this.publicUrl).host,
      INSIDE_BIND: new URL(this.insideUrl).host,
    });
  }

  balancerLog(): Promise<string> {
    return Bun.file(join(this.#folder, "balancer.log")).text();
  }

  child(service: string): Bun.Subprocess | undefined {
    return this.#children.get(service);
  }

  async stop(): Promise<void> {
    for (const child of this.#children.values()) child.kill("SIGKILL");
    await Promise.all([...this.#children.values()].map((child) => child.exited));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #spawn(service: string, command: string[], env: Record<string, string>): void {
    const child = Bun.spawn(command, {
      env: { PATH: process.env.PATH, ...env },
      stdin: "ignore",
      stdout: Bun.file(join(this.#folder, `${service}.log`)),
      stderr: "ignore",
    });
    this.#children.set(service, child);
  }

  #environmentOf(service: string): Record<string, string> {
    const given = environmentOf(this.#compose.services[service], this.#variables);
    const moved = Object.entries(given).map(([name, value]) => {
      let text = value;
      for (const [from, to] of this.#addresses) text = text.replaceAll(from, to);
      return [name, text];
    });
    return Object.fromEntries(moved);
  }
}
