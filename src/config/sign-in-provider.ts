/** Where people sign in with an account that they already have. */
export interface SignInProvider {
  /** Part of the redirect address, and the name in records. */
  name: string;
  type: ProviderType;
  /** Text of the button. */
  title: string;
  /** Address of the provider, without a trailing slash. */
  address: string;
  clientId: string;
  clientSecret: string;
  /** Asked for in addition to those that the type needs. */
  scopes: string[];
  /** Claims of an OpenID Connect provider that name the groups and the account. */
  groupsClaim: string;
  loginClaim: string;
  /** Who may come in. Every list that is not empty must have a match. */
  domains: string[];
  organisations: string[];
  groups: string[];
  roles: ProviderRole[];
  /** Whether an unknown person gets an account. */
  newAccounts: boolean;
}

export const providerTypes = ["openid", "github", "gitlab", "gitee", "gitea"] as const;
export type ProviderType = (typeof providerTypes)[number];

/** What the members of a group at the provider are here. */
export type ProviderRole =
  | { group: string; admin: true }
  | { group: string; member: string; permission: "view" | "manage" };
