import { parseJson } from "../../json.ts";
import type { InstanceLimits } from "../../push/admission/admission.ts";
import type { RemoteListeners } from "../../push/client-messages.ts";
import type { NameWatch } from "../../push/connection/connections.ts";
import type { GatewayWorkers } from "../../push/gateway-options.ts";
import type { ClientMessage } from "../../push/message/outgoing-event.ts";
import type { WorkerStart } from "../protocol.ts";
import type { WorkerLink } from "./worker-link.ts";

/** What the gateway of a worker shares with the others. */
export function workerShare(link: WorkerLink, { node }: Pick<WorkerStart, "node">): GatewayWorkers {
  return {
    limits: limitsOver(link),
    names: namesOver(link),
    async countConnections(selector) {
      const { answers } = await link.call("askAll", { question: { about: "count", selector } });
      return (answers as number[]).reduce((sum, count) => sum + count, 0);
    },
    clientMessages: listenersOver(link),
    instance: node,
  };
}

function limitsOver(link: WorkerLink): InstanceLimits {
  return {
    enter: (attempt) => link.call("enter", attempt),
    confirm: (userId) => link.call("confirm", { userId }),
    leave(userId) {
      link.note((note) => {
        note.left ??= [];
        note.left.push(userId);
      });
    },
  };
}

function namesOver(link: WorkerLink): NameWatch {
  const changed = (kind: "users" | "online" | "channels") => (name: string, isPresent: boolean) =>
    link.note((note) => {
      note[kind] ??= [];
      note[kind].push([name, isPresent]);
    });
  return { users: changed("users"), online: changed("online"), channels: changed("channels") };
}

function listenersOver(link: WorkerLink): RemoteListeners {
  return {
    get count() {
      return link.remoteListeners;
    },
    send: (message) => link.send({ type: "client" }, Buffer.from(JSON.stringify(message))),
    onMessage(receive) {
      link.onClientMessage((body) => receive(parseJson(body.toString()) as ClientMessage));
    },
    report(listeners) {
      link.note((note) => {
        note.listeners = listeners;
      });
    },
  };
}
