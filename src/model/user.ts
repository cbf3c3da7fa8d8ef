import { revisionOf } from "../revision.ts";
import type { Language } from "./language.ts";
import type { Page, PageRequest } from "./page.ts";

export type Role = "admin" | "user";

export interface User {
  id: number;
  username: string;
  role: Role;
  disabled: boolean;
  /** Of the console; null: the language of the browser. */
  language: Language | null;
  createdAt: Date;
}

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
  create(session: Omit<Session, "id">): Promise<Session>;
  byTokenHash(tokenHash: string): Promise<Session | null>;
  listOfUser(userId: number): Promise<Session[]>;
  touch(id: number, at: Date): Promise<void>;
  delete(id: number): Promise<boolean>;
  deleteOfUser(userId: number, exceptId?: number): Promise<number>;
  deleteExpired(now: Date): Promise<number>;
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
