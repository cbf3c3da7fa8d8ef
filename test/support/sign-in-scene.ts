import { afterAll } from "bun:test";
import type { Config } from "../../src/config/config.ts";
import type { SignInProvider } from "../../src/config/sign-in-provider.ts";
import { startApiServer } from "./api-server.ts";
import { freePort } from "./free-port.ts";
import { startOpenIdProvider } from "./openid-provider.ts";

/** A provider as the settings are read, with what a test changes. */
export function providerSettings(changes: Partial<SignInProvider>): SignInProvider {
  const name = changes.name ?? "good";
  return {
    ...{ name, type: "openid", title: name, address: "", clientId: "", clientSecret: "", scopes: [] },
    ...{
      groupsClaim: "groups",
      loginClaim: "preferred_username",
      domains: [],
      organisations: [],
      groups: [],
    },
    ...{ roles: [], newAccounts: false },
    ...changes,
  };
}

/** A server with two OpenID Connect providers, `good` and `other`. */
export async function setUpProviders(
  changes: { good: Partial<SignInProvider>; other: Partial<SignInProvider> },
  settings: Partial<Config> = {},
) {
  // The redirect address has the port, so it is chosen before the server starts.
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const redirects = () => ["good", "other"].map((name) => `${url}/sign-in/${name}`);
  const good = await startOpenIdProvider(redirects);
  const other = await startOpenIdProvider(redirects, "/realms/other");
  const providers = Object.entries({ good, other }).map(([name, { url: address, clientId, clientSecret }]) =>
    providerSettings({ name, address, clientId, clientSecret, ...changes[name as "good" | "other"] }),
  );
  const server = await startApiServer({
    "server.listen": { host: "127.0.0.1", port },
    "auth.providers": providers,
    // Each browser of a test has an address of its own.
    "server.trustedProxies": ["127.0.0.1/32"],
    ...settings,
  });
  afterAll(async () => {
    await server.stop();
    await good.stop();
    await other.stop();
  });
  return { server, good, other };
}
