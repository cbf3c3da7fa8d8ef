import type { Instance } from "../setups/part.ts";
import { timePasses } from "../setups/part.ts";
import { adminPassword } from "../setups/slipway-process.ts";
import { type Answer, request } from "./http.ts";

const lookLimitMs = 2_000;

/** The management API as an admin, on any server, because sessions are in the database. */
export class Api {
  readonly #instances: Instance[];
  #token = "";

  constructor(instances: Instance[]) {
    this.#instances = instances;
  }

  static signIn(instance: Instance): Promise<Answer> {
    return request("POST", `${instance.url}/api/auth/login`, {
      body: { username: "admin", password: adminPassword },
    });
  }

  /** The body of a successful response; tries every server, because some may be down. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    let last = "";
    for (let attempt = 0; attempt < 3; attempt++) {
      for (const instance of this.#instances) {
        const answer = await this.#callAt(instance, method, path, body);
        if (answer.status >= 200 && answer.status < 300) return answer.json as T;
        last = `${answer.status} ${answer.text.slice(0, 300)}`;
      }
      await timePasses(500);
    }
    throw new Error(`${method} ${path} was answered ${last}`);
  }

  /** What a page shows now; null: no server answers. */
  async look<T>(path: string): Promise<T | null> {
    for (const instance of this.#instances) {
      const answer = await this.#callAt(instance, "GET", path, undefined, lookLimitMs);
      if (answer.status === 200) return answer.json as T;
    }
    return null;
  }

  async #callAt(
    instance: Instance,
    method: string,
    path: string,
    body: unknown,
    limitMs?: number,
  ): Promise<Answer> {
    if (this.#token === "") this.#token = String((await Api.signIn(instance)).json.token ?? "");
    const answer = await request(method, instance.url + path, {
      ...(body === undefined ? {} : { body }),
      headers: { authorization: `Bearer ${this.#token}` },
      ...(limitMs === undefined ? {} : { limitMs }),
    });
    if (answer.status === 401) this.#token = "";
    return answer;
  }
}
