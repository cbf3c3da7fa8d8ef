import { createRemoteJWKSet, jwtVerify, customFetch as keysFetch } from "jose";
import type { Configuration, CustomFetch, IDToken } from "openid-client";
import type { Clock } from "../../clock.ts";
import type { SignInProvider } from "../../config/sign-in-provider.ts";
import type { EndedAtProvider } from "../../model/user.ts";
import type { Answered, Grant, Person } from "./person.ts";
import { oauthAccounts } from "./provider-accounts.ts";
import { type Conversation, providerFault } from "./provider-fault.ts";

/** What a sign-in remembers between the way to the provider and the way back. */
export interface Challenge {
  state: string;
  nonce: string;
  verifier: string;
}

const timeoutSeconds = 15;
/** Larger than any key set or list of groups that a person has. */
const maxAnswerBytes = 4 * 1024 * 1024;
/** Its metadata are read again after this time, so that a provider that is away is noticed before the browser goes there. */
const metadataMs = 60_000;

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";
const logoutTokenAge = "5m";

/** Loaded only when somebody signs in with a provider. */
const protocol = () => import("openid-client");

/** One provider, as OpenID Connect or OAuth 2.0 describe it. */
export function buildProviderClient(
  provider: SignInProvider,
  clock: Pick<Clock, "now">,
  redirectAddress: () => string,
) {
  const accounts = oauthAccounts[provider.type] ?? null;
  let keys: ReturnType<typeof createRemoteJWKSet> | null = null;
  let known: { configuration: Promise<Configuration>; readAt: number } | null = null;

  /** Follows no redirect and reads no endless answer. */
  function observedFetch(conversation: Conversation): CustomFetch {
    return async (url, options) => {
      try {
        const { signal = AbortSignal.timeout(timeoutSeconds * 1000), ...sent } = options;
        const answer = await fetch(url, { ...sent, signal, keepalive: false } as RequestInit);
        const body = await limitedBody(answer);
        conversation.status = answer.status;
        const isForbidden = answer.status === 403;
        const isLimited = answer.status === 429 || (isForbidden && isOfLimit(answer.headers, body));
        conversation.isAway = answer.status >= 500 || isLimited;
        const asked = new Headers(sent.headers).get("authorization") ?? "";
        conversation.isForbidden = isForbidden && /^Bearer /i.test(asked);
        const date = Date.parse(answer.headers.get("date") ?? "");
        if (!Number.isNaN(date)) conversation.aheadMs = date - clock.now();
        return readable(answer, body);
      } catch (error) {
        conversation.isAway = true;
        throw error;
      }
    };
  }

  /** Runs a conversation, and turns what goes wrong into words. */
  async function inWords<T>(talk: (conversation: Conversation) => Promise<T>): Promise<T> {
    const conversation: Conversation = { isAway: false, isForbidden: false, status: null, aheadMs: null };
    try {
      return await talk(conversation);
    } catch (error) {
      throw providerFault(error, { title: provider.title, redirectAddress: redirectAddress(), conversation });
    }
  }

  const fetchKeys = async (url: string, options: RequestInit) => {
    const answer = await fetch(url, { ...options, redirect: "manual", keepalive: false });
    return readable(answer, await limitedBody(answer));
  };

  async function configured(conversation: Conversation): Promise<Configuration> {
    if (known === null || clock.now() - known.readAt > metadataMs) {
      const reading = { configuration: inWords(readConfiguration), readAt: clock.now() };
      known = reading;
      reading.configuration.catch(() => {
        if (known === reading) known = null;
      });
    }
    const openid = await protocol();
    const shared = await known.configuration;
    // Of its own for each conversation, so that the faults of one are not those of another.
    const { clientId, clientSecret } = provider;
    const metadata = shared.serverMetadata();
    const own = new openid.Configuration(metadata, clientId, clientSecret, await authenticate(metadata));
    own[openid.customFetch] = observedFetch(conversation);
    own.timeout = timeoutSeconds;
    await prepare(own);
    return own;
  }

  /** The secret in the form, as most providers take it; in the header only where the provider takes nothing else. */
  async function authenticate(metadata: { token_endpoint_auth_methods_supported?: string[] | undefined }) {
    const { ClientSecretBasic, ClientSecretPost } = await protocol();
    const methods = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_post"];
    const isBasic = methods.includes("client_secret_basic") && !methods.includes("client_secret_post");
    return (isBasic ? ClientSecretBasic : ClientSecretPost)(provider.clientSecret);
  }

  async function prepare(configuration: Configuration): Promise<void> {
    const { allowInsecureRequests, enableNonRepudiationChecks } = await protocol();
    // Which addresses may be without TLS is decided where the settings are read.
    if (provider.address.startsWith("http:")) allowInsecureRequests(configuration);
    // The signature of a token counts, not only the connection that it came by.
    if (!accounts) enableNonRepudiationChecks(configuration);
  }

  async function readConfiguration(conversation: Conversation): Promise<Configuration> {
    const openid = await protocol();
    const { allowInsecureRequests, Configuration, discovery } = openid;
    const { address, clientId, clientSecret } = provider;
    if (accounts)
      return new Configuration(
        {
          issuer: address,
          authorization_endpoint: `${address}${accounts.authorizePath}`,
          token_endpoint: `${address}${accounts.tokenPath}`,
        },
        clientId,
        clientSecret,
      );
    const found = await discovery(
      new URL(`${address}/.well-known/openid-configuration`),
      clientId,
      clientSecret,
      undefined,
      {
        [openid.customFetch]: observedFetch(conversation),
        timeout: timeoutSeconds,
        ...(address.startsWith("http:") ? { execute: [allowInsecureRequests] } : {}),
      },
    );
    const { issuer } = found.serverMetadata();
    // A provider that names itself otherwise could answer in the name of another one.
    if (issuer.replace(/\/$/, "") !== address)
      throw new Error(`it names itself ${issuer}, and auth.providers names it ${address}`);
    return found;
  }

  const converse = <T>(talk: (configuration: Configuration) => Promise<T>): Promise<T> =>
    inWords(async (conversation) => talk(await configured(conversation)));

  async function scopesFor(configuration: Configuration): Promise<string> {
    if (accounts) return [...accounts.scopesOf(provider), ...provider.scopes].join(" ");
    const supported = configuration.serverMetadata().scopes_supported ?? [];
    const wanted = ["openid", "profile", "email", ...(provider.type === "gitea" ? ["groups"] : [])];
    // Without it some providers give no way to ask again.
    const lasting = supported.includes("offline_access") ? ["offline_access"] : [];
    return [...new Set([...wanted, ...lasting, ...provider.scopes])].join(" ");
  }

  async function personOf(
    configuration: Configuration,
    accessToken: string,
    claims: IDToken | undefined,
    subject: string | undefined,
  ): Promise<Person | null> {
    const { fetchProtectedResource, fetchUserInfo } = await protocol();
    const { issuer, userinfo_endpoint } = configuration.serverMetadata();
    if (accounts) {
      const read = async (path: string) => {
        const url = new URL(`${accounts.apiOf(provider.address)}${path}`);
        const headers = new Headers({ accept: "application/json", "user-agent": "Slipway" });
        const answer = await fetchProtectedResource(configuration, accessToken, url, "GET", null, headers);
        if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`, { cause: answer });
        return answer.json();
      };
      const person = { ...(await accounts.read(read, provider)), issuer, providerSession: null };
      if (subject !== undefined && person.subject !== subject) throw new Error("it names another account");
      return person;
    }
    const expected = claims?.sub ?? subject;
    if (expected === undefined) throw new Error("it names no account");
    if (subject !== undefined && expected !== subject) throw new Error("it names another account");
    const info = userinfo_endpoint ? await fetchUserInfo(configuration, accessToken, expected) : null;
    if (info === null && claims === undefined) return null;
    return personIn(provider, issuer, { ...claims, ...info });
  }

  function grantOf(
    tokens: { access_token: string; refresh_token?: string; expiresIn(): number | undefined },
    earlier: Grant | null,
  ): Grant {
    const seconds = tokens.expiresIn();
    return {
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token ?? earlier?.refreshToken ?? null,
      expiresAt: seconds === undefined ? null : clock.now() + seconds * 1000,
    };
  }

  return {
    provider,
    /** The issuer of its subjects. Throws a fault while it is away. */
    issuer: () => converse(async (configuration) => configuration.serverMetadata().issuer),
    /** Where the browser goes, and what to remember until it comes back. */
    begin: () =>
      converse(async (configuration): Promise<{ address: string; challenge: Challenge }> => {
        const { buildAuthorizationUrl, calculatePKCECodeChallenge, ...random } = await protocol();
        const challenge: Challenge = {
          state: random.randomState(),
          nonce: random.randomNonce(),
          verifier: random.randomPKCECodeVerifier(),
        };
        const address = buildAuthorizationUrl(configuration, {
          redirect_uri: redirectAddress(),
          scope: await scopesFor(configuration),
          state: challenge.state,
          code_challenge: await calculatePKCECodeChallenge(challenge.verifier),
          code_challenge_method: "S256",
          ...(accounts ? {} : { nonce: challenge.nonce }),
        });
        return { address: address.href, challenge };
      }),
    /** The person who came back with this query. */
    finish: (query: string, { state, nonce, verifier }: Challenge) =>
      converse(async (configuration): Promise<Answered & { person: Person }> => {
        const { authorizationCodeGrant } = await protocol();
        const back = new URL(redirectAddress());
        back.search = query;
        const tokens = await authorizationCodeGrant(configuration, back, {
          expectedState: state,
          pkceCodeVerifier: verifier,
          ...(accounts ? {} : { expectedNonce: nonce, idTokenExpected: true }),
        });
        const person = await personOf(configuration, tokens.access_token, tokens.claims(), undefined);
        if (person === null) throw new Error("it names no account");
        return { person, grant: grantOf(tokens, null) };
      }),
    /** What a provider says has ended, in a token that it signs (OpenID Connect Back-Channel Logout). */
    ended: (logoutToken: string) =>
      converse(async (configuration): Promise<EndedAtProvider> => {
        const { issuer, jwks_uri } = configuration.serverMetadata();
        if (jwks_uri === undefined) throw new Error("it has no keys");
        keys ??= createRemoteJWKSet(new URL(jwks_uri), {
          [keysFetch]: fetchKeys,
          timeoutDuration: timeoutSeconds * 1000,
        });
        const { payload } = await jwtVerify(logoutToken, keys, {
          issuer,
          audience: provider.clientId,
          maxTokenAge: logoutTokenAge,
          clockTolerance: "60s",
        });
        const { sub, sid, events, nonce } = payload;
        const isLogout = typeof events === "object" && events !== null && Object.hasOwn(events, logoutEvent);
        const subject = typeof sub === "string" ? sub : null;
        const providerSession = typeof sid === "string" ? sid : null;
        // An ID token, which has a nonce, must not end sessions.
        if (!isLogout || nonce !== undefined || (subject === null && providerSession === null))
          throw new Error("the token is no logout token");
        return { issuer, subject, providerSession };
      }),
    /** Asks again for the account of a session. */
    renew: (grant: Grant, subject: string) =>
      converse(async (configuration): Promise<Answered> => {
        const { refreshTokenGrant } = await protocol();
        if (grant.refreshToken === null)
          return { person: await personOf(configuration, grant.accessToken, undefined, subject), grant };
        const tokens = await refreshTokenGrant(configuration, grant.refreshToken);
        const renewed = grantOf(tokens, grant);
        return {
          person: await personOf(configuration, renewed.accessToken, tokens.claims(), subject),
          grant: renewed,
        };
      }),
  };
}
export type ProviderClient = ReturnType<typeof buildProviderClient>;

function personIn(provider: SignInProvider, issuer: string, claims: Record<string, unknown>): Person {
  const { sub, sid, email, email_verified: isVerified } = claims;
  const login = [claims[provider.loginClaim], claims.preferred_username, claims.nickname, email, sub].find(
    (name): name is string => typeof name === "string" && name.trim() !== "",
  );
  return {
    issuer,
    subject: String(sub),
    login: login ?? String(sub),
    emails: typeof email === "string" && isVerified === true ? [email] : [],
    groups: groupsIn(claims[provider.groupsClaim]),
    providerSession: typeof sid === "string" ? sid : null,
  };
}

/** A list of names, or of objects with a name; one name alone is a list too. */
function groupsIn(claim: unknown): string[] | null {
  if (claim === undefined || claim === null) return null;
  return [claim].flat().flatMap((group) => (typeof group === "string" ? [group] : []));
}

async function limitedBody(answer: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body ?? []) {
    size += part.byteLength;
    if (size > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** GitHub answers 403 when it is asked too often, and in some cases only the text says so. */
function isOfLimit(headers: Headers, body: Uint8Array): boolean {
  const isUsedUp = headers.get("x-ratelimit-remaining") === "0" || headers.has("retry-after");
  return isUsedUp || /rate limit/i.test(Buffer.from(body).toString());
}

/** GitHub refuses a code with the status 200. */
function readable(answer: Response, body: Uint8Array): Response {
  const { headers, status } = answer;
  const isRefusal = status === 200 && /^\s*\{\s*"error"/.test(Buffer.from(body.subarray(0, 64)).toString());
  const isEmpty = status === 204 || status === 304;
  const kept = new Headers(headers);
  // The body is decoded already.
  for (const name of ["content-encoding", "content-length"]) kept.delete(name);
  return new Response(isEmpty ? null : (body as BodyInit), {
    status: isRefusal ? 400 : status,
    headers: kept,
  });
}
