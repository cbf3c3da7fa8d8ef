import { z } from "zod";
import { revisionOf } from "../revision.ts";
import { type Language, languages } from "./language.ts";
import type { Page, PageRequest } from "./page.ts";

export const userSchema = z.object({
  id: z.number().int(),
  username: z.string().meta({ example: "ann" }),
  role: z.enum(["admin", "user"]),
  disabled: z.boolean(),
  /** Of the console; null: the language of the browser. */
  language: z.enum(languages).nullable(),
  createdAt: z.date(),
});
export type User = z.infer<typeof userSchema>;
export type Role = User["role"];

export function userRevision({ username, role, disabled }: User): string {
  return revisionOf({ username, role, disabled });
}

export interface UserWithPassword extends User {
  passwordHash: string;
}

/** A sign-in of the console or of POST /api/auth/login. */
export interface Session {
  id: number;
  userId: number;
  /** SHA-256 of the bearer token; the token itself is never stored. */
  tokenHash: string;
  userAgent: string;
  remoteIp: string;
  createdAt: Date;
  lastSeenAt: Date;
  expiresAt: Date;
  /** The account at a provider that the sign-in used; null: a password, and the fields below are null too. */
  identityId: number | null;
  /** When the provider is asked again whether the person may stay; null: never. */
  refreshAt: Date | null;
  /** The provider's id of its own session, which it names when it ends. */
  providerSession: string | null;
  /** Encrypted tokens of the provider, with which it is asked again. */
  providerGrant: string | null;
}

type ProviderFields = "identityId" | "refreshAt" | "providerSession" | "providerGrant";
export type NewSession = Omit<Session, "id" | ProviderFields> & Partial<Pick<Session, ProviderFields>>;

/** The sessions that a provider has ended: all of one account there, or one of its own sessions. */
export interface EndedAtProvider {
  issuer: string;
  subject: string | null;
  providerSession: string | null;
}

export type TokenScope = "read" | "write" | "publish" | "admin";

/** A long-lived API token. It acts as its user, within its scopes. */
export interface ApiToken {
  id: number;
  userId: number;
  name: string;
  tokenHash: string;
  /** First characters of the token, so that people recognise it in a list. */
  hint: string;
  scopes: TokenScope[];
  createdAt: Date;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
}

export interface UserKeeper {
  create(user: { username: string; passwordHash: string; role: Role; createdAt: Date }): Promise<User>;
  byId(id: number): Promise<User | null>;
  byUsername(username: string): Promise<UserWithPassword | null>;
  /** Reads the current row and locks it until the transaction ends. */
  hold(id: number): Promise<UserWithPassword | null>;
  list(page: PageRequest): Promise<Page<User>>;
  update(
    id: number,
    change: { role?: Role; disabled?: boolean; passwordHash?: string; language?: Language | null },
  ): Promise<User | null>;
  delete(id: number): Promise<boolean>;
  count(): Promise<number>;
  countAdmins(): Promise<number>;
}

export interface SessionKeeper {
  create(session: NewSession): Promise<Session>;
  byTokenHash(tokenHash: string): Promise<Session | null>;
  listOfUser(userId: number): Promise<Session[]>;
  touch(id: number, at: Date): Promise<void>;
  delete(id: number): Promise<boolean>;
  deleteOfUser(userId: number, exceptId?: number): Promise<number>;
  deleteExpired(now: Date): Promise<number>;
  /** Sessions whose provider must be asked now, at most `limit`. They are not due again before `until`. */
  takeDue(now: Date, until: Date, limit: number): Promise<Session[]>;
  /** False: the session has ended meanwhile. */
  setGrant(id: number, grant: { providerGrant: string; refreshAt?: Date }): Promise<boolean>;
  withGrant(): Promise<Session[]>;
  /** The users whose sessions were ended. */
  deleteAtProvider(ended: EndedAtProvider): Promise<number[]>;
}

export interface ApiTokenKeeper {
  create(token: Omit<ApiToken, "id" | "lastUsedAt">): Promise<ApiToken>;
  byTokenHash(tokenHash: string): Promise<ApiToken | null>;
  list(filter: { userId?: number }, page: PageRequest): Promise<Page<ApiToken>>;
  byId(id: number): Promise<ApiToken | null>;
  touch(id: number, at: Date): Promise<void>;
  delete(id: number): Promise<boolean>;
  /** Returns their number. */
  deleteOfUser(userId: number): Promise<number>;
}
