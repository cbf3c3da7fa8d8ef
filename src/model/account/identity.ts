/** The account of a user at a provider that the user signs in with. */
export interface Identity {
  id: number;
  userId: number;
  /** The provider's own name for itself. A subject is unique within it, and is never given to another account. */
  issuer: string;
  subject: string;
  /** Name of the provider in `auth.providers` at the last sign-in. */
  provider: string;
  /** Host of the provider's address: a Git host names the same in its clone addresses. */
  host: string;
  /** Name of the account there at the last sign-in. Its owner can change it, so nothing is granted by it. */
  login: string;
  createdAt: Date;
  lastUsedAt: Date;
}

/** A name that a user had at a host, until the account was unlinked or renamed. */
export type FormerLogin = Pick<Identity, "userId" | "host" | "login">;

export interface IdentityKeeper {
  create(identity: Omit<Identity, "id">): Promise<Identity>;
  bySubject(issuer: string, subject: string): Promise<Identity | null>;
  byId(id: number): Promise<Identity | null>;
  ofUser(userId: number): Promise<Identity[]>;
  /** All accounts at a host. */
  atHost(host: string): Promise<Identity[]>;
  formerAtHost(host: string): Promise<FormerLogin[]>;
  update(id: number, used: Pick<Identity, "provider" | "login" | "lastUsedAt">): Promise<Identity | null>;
  delete(id: number): Promise<boolean>;
  /** Returns their number. */
  deleteOfUser(userId: number, exceptId: number | null): Promise<number>;
}
