import type { Command } from "commander";
import { Fault } from "../../errors.ts";
import { print, visible } from "../output.ts";
import { feignRemote, linesOf, type RemoteOptions, withApiKey } from "./remote.ts";

const targetTypes = ["all", "user", "temp_user", "channel"];

interface Envelope<T> {
  data: T;
}

/** `publish`, `online` and `listen`: the push gateway from a shell. */
export function addPushCommands(program: Command): void {
  withApiKey(program.command("publish <targetType> [target]"))
    .description("push a text to all, one user, one user's temporary connections, or a channel")
    .option("--data <text>", "the message; without it, standard input is read")
    .option(
      "--ack",
      "ask the clients of a user to acknowledge it; `slipway push trace` shows whether they did",
    )
    .option("--idempotency-key <key>", "a repeat with the same key within 5 minutes is a no-op")
    .addHelpText("after", "\nExample: slipway publish user 42 --data 'build finished'")
    .action(async (targetType: string, target: string | undefined, options: PublishOptions) => {
      if (!targetTypes.includes(targetType))
        throw new Fault("invalid", `"${targetType}" is no targetType; use one of ${targetTypes.join(", ")}.`);
      if (targetType === "all" && target !== undefined)
        throw new Fault(
          "invalid",
          `"all" takes no target; if "${target}" is the message, give it with --data.`,
        );
      const data = options.data ?? (await Bun.stdin.text());
      const ack = options.ack ? { ack: true } : {};
      const answer = await publish(options, { targetType, target: target ?? "", data, ...ack });
      print(options, answer, () => `${answer.text} (id ${answer.id}${receivers(answer.receivers)})`);
    });

  withApiKey(program.command("online"))
    .description("users online: on the instance asked, or over the cluster")
    .option("--cluster", "ask for all instances")
    .action(async (options: RemoteOptions & { cluster?: boolean }) => {
      const scope = options.cluster ? "?scope=cluster" : "";
      const { data } = await feignRemote(options).get<Envelope<string[]>>(`/feign/getOnlineUsers${scope}`);
      print(options, data, () => data.map(visible).join("\n") || "(nobody)");
    });

  withApiKey(program.command("listen"))
    .description("follow the messages that clients send, live")
    .action(async (options: RemoteOptions) => {
      const response = await feignRemote(options).open("/feign/client-messages");
      for await (const line of linesOf(response)) print(options, JSON.parse(line), () => readable(line));
    });
}

interface PublishOptions extends RemoteOptions {
  data?: string;
  ack?: true;
  idempotencyKey?: string;
}

async function publish(options: PublishOptions, body: object) {
  const headers: Record<string, string> = options.idempotencyKey
    ? { "idempotency-key": options.idempotencyKey }
    : {};
  const response = await feignRemote(options).open("/feign/publish", {
    method: "POST",
    body: JSON.stringify(body),
    headers,
  });
  const receiverCount = response.headers.get("x-push-receivers");
  return {
    text: ((await response.json()) as Envelope<string>).data,
    id: response.headers.get("x-push-id"),
    receivers: receiverCount === null ? null : Number(receiverCount),
  };
}

function receivers(count: number | null): string {
  return count === null ? "" : `, ${count} ${count === 1 ? "receiver" : "receivers"}`;
}

function readable(line: string): string {
  const { ts, userId, kind, data } = JSON.parse(line) as {
    ts: number;
    userId: string;
    kind: string;
    data: string;
  };
  return `${new Date(ts).toISOString()} ${visible(userId)} (${kind}) ${visible(data)}`;
}
