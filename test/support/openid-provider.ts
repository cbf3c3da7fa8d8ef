import { exportJWK, generateKeyPair, SignJWT } from "jose";

/** An account at the provider of a test. */
export interface TestAccount {
  sub: string;
  preferred_username: string;
  email?: string;
  email_verified?: boolean;
  groups?: string[];
  sid?: string;
}

export interface OpenIdProvider {
  url: string;
  clientId: string;
  clientSecret: string;
  /** What the browser does at the provider: the account agrees. Returns the query with which it is sent back. */
  agree(address: string, account: TestAccount): string;
  /** Changes the claims of the next ID token before it is signed. */
  tamper: (claims: Record<string, unknown>) => Record<string, unknown>;
  /** Signs with a key that the key set does not have. */
  signsWrongly: boolean;
  /** Answers nothing but this status; null: answers as usual. */
  brokenStatus: number | null;
  /** How far its clock is ahead. */
  aheadMs: number;
  /** Whether a code can be used again. */
  acceptsUsedCodes: boolean;
  /** Subjects and sessions (`sid`) whose tokens are refused from now on. */
  removed: Set<string>;
  /** The answer of its user-info address; null: what it knows of the account. */
  userInfo: (() => Response) | null;
  /** What the account is at the next refresh. */
  accounts: Map<string, TestAccount>;
  /** How often tokens were refreshed. */
  refreshed: number;
  logoutToken(claims: Record<string, unknown>): Promise<string>;
  stop(): Promise<void>;
}

interface Code {
  account: TestAccount;
  redirectUri: string;
  challenge: string;
  nonce: string | null;
  isUsed: boolean;
}

/** An OpenID Connect provider on a free port that can also misbehave. It checks what a provider has to check. */
export async function startOpenIdProvider(
  redirectUris: () => string[],
  issuerPath = "",
): Promise<OpenIdProvider> {
  const { publicKey, privateKey } = await generateKeyPair("RS256");
  const other = await generateKeyPair("RS256");
  const jwk = { ...(await exportJWK(publicKey)), kid: "one", alg: "RS256", use: "sig" };
  const codes = new Map<string, Code>();
  const tokens = new Map<string, Pick<TestAccount, "sub" | "sid">>();
  const clientId = "slipway";
  const clientSecret = "the secret of the client";

  const sign = (claims: Record<string, unknown>) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: "RS256", kid: "one" })
      .sign(provider.signsWrongly ? other.privateKey : privateKey);
  const issue = async (account: TestAccount, nonce: string | null, sid = account.sid) => {
    const now = Math.floor((Date.now() + provider.aheadMs) / 1000);
    const times = { iat: now, exp: now + 300 };
    const claims = {
      iss: provider.url,
      aud: clientId,
      ...times,
      sub: account.sub,
      ...(nonce ? { nonce } : {}),
    };
    const access = crypto.randomUUID();
    const refresh = crypto.randomUUID();
    const held = { sub: account.sub, ...(sid ? { sid } : {}) };
    tokens.set(access, held);
    tokens.set(refresh, held);
    provider.accounts.set(account.sub, account);
    return Response.json({
      ...{ access_token: access, refresh_token: refresh, token_type: "Bearer", expires_in: 300 },
      id_token: await sign(provider.tamper({ ...claims, ...(sid ? { sid } : {}) })),
    });
  };
  const refuse = (error: string, status = 400) => Response.json({ error }, { status });

  async function token(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    if (form.get("client_id") !== clientId || form.get("client_secret") !== clientSecret)
      return refuse("invalid_client", 401);
    if (form.get("grant_type") === "refresh_token") {
      const { sub = "", sid } = tokens.get(form.get("refresh_token") ?? "") ?? {};
      tokens.delete(form.get("refresh_token") ?? "");
      const account = provider.accounts.get(sub);
      const isRemoved = provider.removed.has(sub) || provider.removed.has(sid ?? "");
      if (account === undefined || isRemoved) return refuse("invalid_grant");
      provider.refreshed++;
      return issue(account, null, sid);
    }
    const code = codes.get(form.get("code") ?? "");
    const verifier = form.get("code_verifier") ?? "";
    const challenge = new Bun.CryptoHasher("sha256").update(verifier).digest("base64url");
    const isRight =
      code !== undefined && code.redirectUri === form.get("redirect_uri") && code.challenge === challenge;
    if (!isRight || (code.isUsed && !provider.acceptsUsedCodes)) return refuse("invalid_grant");
    code.isUsed = true;
    return issue(code.account, code.nonce);
  }

  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const { url } = provider;
    if (provider.brokenStatus !== null) return new Response("broken", { status: provider.brokenStatus });
    if (pathname === `${issuerPath}/.well-known/openid-configuration`)
      return Response.json({
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        userinfo_endpoint: `${url}/userinfo`,
        jwks_uri: `${url}/keys`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        token_endpoint_auth_methods_supported: ["client_secret_post"],
        scopes_supported: ["openid", "offline_access"],
        authorization_response_iss_parameter_supported: true,
      });
    if (pathname === `${issuerPath}/keys`) return Response.json({ keys: [jwk] });
    if (pathname === `${issuerPath}/token`) return token(request);
    if (pathname === `${issuerPath}/userinfo`) {
      if (provider.userInfo !== null) return provider.userInfo();
      const held = (request.headers.get("authorization") ?? "").replace(/^Bearer /i, "");
      const account = provider.accounts.get(tokens.get(held)?.sub ?? "");
      return account ? Response.json(account) : new Response(null, { status: 401 });
    }
    return new Response("nothing here", { status: 404 });
  }

  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const answered = await answer(request);
      answered.headers.set("date", new Date(Date.now() + provider.aheadMs).toUTCString());
      return answered;
    },
  });
  const provider: OpenIdProvider = {
    url: `http://127.0.0.1:${server.port}${issuerPath}`,
    clientId,
    clientSecret,
    agree(address, account) {
      const asked = new URL(address).searchParams;
      const redirectUri = asked.get("redirect_uri") ?? "";
      if (!redirectUris().includes(redirectUri)) throw new Error(`${redirectUri} is not registered`);
      if (asked.get("client_id") !== clientId || asked.get("code_challenge_method") !== "S256")
        throw new Error("the request is not right");
      const code = crypto.randomUUID();
      codes.set(code, {
        ...{ account, redirectUri, isUsed: false },
        ...{ challenge: asked.get("code_challenge") ?? "", nonce: asked.get("nonce") },
      });
      return new URLSearchParams({ code, state: asked.get("state") ?? "", iss: provider.url }).toString();
    },
    tamper: (claims) => claims,
    signsWrongly: false,
    brokenStatus: null,
    aheadMs: 0,
    acceptsUsedCodes: false,
    removed: new Set(),
    userInfo: null,
    accounts: new Map(),
    refreshed: 0,
    async logoutToken(claims) {
      const now = Math.floor(Date.now() / 1000);
      const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
      return sign({
        iss: provider.url,
        aud: clientId,
        iat: now,
        jti: crypto.randomUUID(),
        events,
        ...claims,
      });
    },
    stop: () => server.stop(true),
  };
  return provider;
}
