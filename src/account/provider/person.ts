/** A person as a provider describes them. */
export interface Person {
  issuer: string;
  subject: string;
  /** Name of the account there. */
  login: string;
  /** Addresses that the provider has verified. */
  emails: string[];
  /** Groups, organisations and teams; null: the provider said nothing of them. */
  groups: string[] | null;
  /** The provider's id of its own session. */
  providerSession: string | null;
}

/** With what a provider is asked again. */
export interface Grant {
  accessToken: string;
  refreshToken: string | null;
  /** When the access token ends; null: not known, as of providers whose tokens last until they are revoked. */
  expiresAt: number | null;
}

export interface Answered {
  /** Null: the provider confirms the account and says nothing new of it. */
  person: Person | null;
  grant: Grant;
}
