import { newReason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { changeDefaultNotify, changedDefault } from "../../task/notify/change-default-notify.ts";
import { type DefaultTarget, readDefaultTarget } from "../../task/notify/default-target.ts";
import { audit, auditEntry, callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { testResultShape } from "./notifications.ts";
import { notifyTargetBody, notifyTargetJson, notifyTargetShape } from "./notify-shape.ts";
import { found, newApi, routesOf } from "./route.ts";
import { json, z } from "./shape.ts";

const route = routesOf("notifications");

const shape = z.object({ target: notifyTargetShape.nullable() }).openapi("DefaultNotify");

const get = route("get", "/default-notify", {
  summary: "The default notification target",
  description:
    "It receives the messages of every project whose `defaultNotify` is true, besides the targets of the project. Null: there is none.",
  access: "signed-in",
  ok: json("The target.", shape),
});

const put = route("put", "/default-notify", {
  summary: "Set the default notification target",
  description:
    "What is not sent stays as it is. A `slipway` target is signed with its own `secret`, not with the key of a project.",
  access: "admin",
  body: notifyTargetBody.omit({ id: true }),
  ok: json("The target.", shape),
});

const remove = route("delete", "/default-notify", {
  summary: "Remove the default notification target",
  access: "admin",
});

const test = route("post", "/default-notify/test", {
  summary: "Send a test message to the default notification target",
  description: "Once and at once; the answer says what the receiver answered.",
  access: "admin",
  ok: json("What came of it.", testResultShape),
});

const subject = "default notification target";

export function defaultNotifyApi({ store, secrets, testMessages, allowInternal }: ApiDeps) {
  const { meta } = store;
  return newApi()
    .openapi(get, async (c) => c.json(shown(await readDefaultTarget(meta)), 200))
    .openapi(put, async (c) => {
      const changed = changedDefault(
        secrets,
        await readDefaultTarget(meta),
        c.req.valid("json"),
        allowInternal,
      );
      const detail = { target: changed.target.url };
      const audited = auditEntry(c, { action: "notify.default", subject, detail });
      await store.run(changeDefaultNotify, { changed, audited });
      return c.json(shown(changed), 200);
    })
    .openapi(remove, async (c) => {
      const audited = auditEntry(c, { action: "notify.default-remove", subject, detail: {} });
      await store.run(changeDefaultNotify, { changed: null, audited });
      return c.body(null, 204);
    })
    .openapi(test, async (c) => {
      const { target } = found(await readDefaultTarget(meta), newReason("no_default_target"));
      const result = await testMessages(null, target, callerOf(c).username);
      await audit(c, { action: "notify.default-test", subject, detail: { target: target.url } });
      const { isDelivered, status, fault, response } = result;
      return c.json({ delivered: isDelivered, status, ...reasonJson({ fault }), response }, 200);
    });
}

function shown(stored: DefaultTarget | null) {
  return { target: stored === null ? null : notifyTargetJson(stored.target) };
}
