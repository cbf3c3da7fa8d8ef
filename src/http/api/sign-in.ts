import type { Entered } from "../../account/provider/provider-sign-in.ts";
import { signInMs } from "../../account/provider/provider-sign-in.ts";
import { Fault } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { refuseForgery, sessionCookieHeader, stepCookieHeader, stepCookieOf } from "../auth.ts";
import { readText } from "../body.ts";
import { limitKeyOf } from "../client-address.ts";
import type { ApiContext } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { text } from "./scalars.ts";
import { json, strict, z } from "./shape.ts";
import { triedPassword, userJson, userShape } from "./user-shape.ts";

const route = routesOf("auth");

/** Cookies of one sign-in: while the browser is at the provider, and while a password is asked for. */
const begunCookie = "slipway_sign_in";
const waitingCookie = "slipway_link";

const params = {
  name: text(40).openapi({ description: "Its `name` in auth.providers.", example: "github" }),
};

const listProviders = route("get", "/auth/providers", {
  summary: "How people sign in",
  description: "The providers of the setting auth.providers, for the buttons of the sign-in page.",
  access: "anonymous",
  ok: json(
    "The providers.",
    z
      .object({
        local: z.enum(["everyone", "admins"]).openapi({ description: "Whose passwords open a session." }),
        items: z.array(
          z.object({
            name: z.string().openapi({ example: "github" }),
            title: z.string().openapi({ example: "GitHub" }),
            type: z.string().openapi({ example: "github" }),
          }),
        ),
      })
      .openapi("SignInProviders"),
  ),
});

/** A place of the console: `//host` and `/\host` would lead elsewhere. */
const consolePath = z
  .string()
  .max(2000)
  .regex(/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/, ruleText("console_path"))
  .openapi({ example: "/projects" });

const begin = route("post", "/auth/providers/{name}/begin", {
  summary: "Begin to sign in with a provider",
  description:
    "Answers the address to which the browser goes, and sets a cookie that it needs on the way back. The provider sends it back to " +
    "`/sign-in/{name}` of the console. `link` asks for the password of an account afterwards, also if a new one could be created.",
  access: "anonymous",
  params,
  body: strict({ returnTo: consolePath, link: z.boolean().default(false) }),
  ok: json("Where to go.", z.object({ address: z.string() }).openapi("ProviderAddress")),
  faults: {
    404: "There is no such provider.",
    409: "The settings of the provider are not right.",
    503: "It is away.",
  },
});

const enteredShape = z
  .object({
    user: userShape.nullable().openapi({ description: "Null: no user is linked to the account." }),
    login: z
      .string()
      .nullable()
      .openapi({ description: "The account that waits for a password; null: none does." }),
    title: z.string().nullable(),
    returnTo: z.string(),
  })
  .openapi("ProviderSignIn");

const finish = route("post", "/auth/providers/{name}/finish", {
  summary: "Sign in with the answer of a provider",
  description:
    "Takes the query with which the provider sent the browser back, once. Sets the cookie of a session; if no user is linked to the account " +
    "and none is to be created, `user` is null, and `POST /api/auth/link` links one. Limited per address.",
  access: "anonymous",
  params,
  body: strict({ query: text(8192) }),
  ok: json("Signed in, or to be linked.", enteredShape),
  faults: {
    401: "The answer is not for this browser, too old, or used.",
    403: "The person may not come in.",
    404: "There is no such provider.",
    409: "The settings of the provider are not right.",
    503: "It is away.",
  },
});

const link = route("post", "/auth/link", {
  summary: "Link an account at a provider",
  description:
    "Links the account with which the browser came back to the user of this password, and sets the cookie of a session. Limited as sign-ins.",
  access: "anonymous",
  body: strict({ username: text(256).openapi({ example: "ann" }), password: triedPassword }),
  ok: json("Signed in.", enteredShape),
  faults: {
    401: "The password is wrong, or no account waits.",
    409: "The account is linked to another user.",
  },
});

const endedByProvider = route("post", "/auth/providers/{name}/logout", {
  summary: "End sessions that a provider has ended",
  description:
    "For providers (OpenID Connect Back-Channel Logout): a form with a signed `logout_token`, which is the proof. Ends the sessions of the " +
    "account, or of the session there, that it names.",
  access: "anonymous",
  params,
  faults: { 400: "The token is not right.", 404: "There is no such provider.", 503: "The provider is away." },
});

const logoutLimits = { maxBytes: 64 * 1024, timeoutMs: 10_000 };

export function signInApi({ providers, local, ownOrigins }: ApiDeps) {
  const visitOf = (c: ApiContext) => ({
    remoteIp: c.var.clientAddress,
    userAgent: c.req.header("user-agent") ?? "",
    limitKey: limitKeyOf(c.var.clientAddress),
  });
  /** A cookie of one step ends with it. */
  const setStep = (c: ApiContext, name: string, value: string | null) =>
    c.header("set-cookie", stepCookieHeader(name, value, signInMs, c.var.isSecureCookie), { append: true });
  const stepOf = (c: ApiContext, name: string) => stepCookieOf(c.req.raw.headers, name, c.var.isSecureCookie);
  const answer = (c: ApiContext, entered: Entered) => {
    const { returnTo } = entered;
    if (!("token" in entered)) {
      setStep(c, waitingCookie, entered.waiting);
      return { user: null, login: entered.login, title: entered.title, returnTo };
    }
    const { token, session, user, isAccessChanged } = entered;
    setStep(c, waitingCookie, null);
    const cookie = sessionCookieHeader(token, session.expiresAt, c.var.isSecureCookie);
    c.header("set-cookie", cookie, { append: true });
    if (isAccessChanged) c.var.consoleAccess.permissionsChanged([user.id]);
    return { user: userJson(user), login: null, title: null, returnTo };
  };

  return newApi()
    .openapi(listProviders, (c) => c.json({ local, items: providers.list() }, 200))
    .openapi(begin, async (c) => {
      refuseForgery(c.req.raw, ownOrigins);
      const { returnTo, link: isLink } = c.req.valid("json");
      const origin = c.req.header("origin") ?? null;
      const { name } = c.req.valid("param");
      const { address, begun } = await providers.begin(name, { returnTo, isLink, origin });
      setStep(c, begunCookie, begun);
      return c.json({ address }, 200);
    })
    .openapi(finish, async (c) => {
      refuseForgery(c.req.raw, ownOrigins);
      const begun = stepOf(c, begunCookie);
      // Also if it fails: the answer counts once.
      setStep(c, begunCookie, null);
      const { name } = c.req.valid("param");
      const { query } = c.req.valid("json");
      const entered = await providers.finish(name, { query, begun, visit: visitOf(c) });
      return c.json(answer(c, entered), 200);
    })
    .openapi(link, async (c) => {
      refuseForgery(c.req.raw, ownOrigins);
      const waiting = stepOf(c, waitingCookie);
      const entered = await providers.link(waiting, { ...c.req.valid("json"), visit: visitOf(c) });
      return c.json(answer(c, entered), 200);
    })
    .openapi(endedByProvider, async (c) => {
      const form = new URLSearchParams(await readText(c.req.raw, logoutLimits));
      const token = form.get("logout_token");
      if (!token) throw new Fault("malformed", newReason("logout_token_missing"));
      const { name } = c.req.valid("param");
      for (const userId of await providers.endSessions(name, token, limitKeyOf(c.var.clientAddress)))
        c.var.consoleAccess.sessionEnded(userId);
      return c.body(null, 204);
    });
}
