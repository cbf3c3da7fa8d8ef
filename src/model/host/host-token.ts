import type { HostKind } from "../../git-host/hosts.ts";

/** A token of a user for the API of a Git host. It is used for this user and this server only. */
export interface HostToken {
  id: number;
  userId: number;
  kind: HostKind;
  /** `https://gitlab.example.com`: the server of the repositories. */
  origin: string;
  /** Sealed for this user and origin. */
  ciphertext: string;
  /** Its last characters, so that people can tell tokens apart. */
  hint: string;
  /** The account at the host that it belongs to; empty: the host does not name it. */
  login: string;
  /** Null: the host does not list them. */
  scopes: string[] | null;
  /** Null: never, or the host does not say. */
  expiresAt: Date | null;
  createdAt: Date;
}

export interface HostTokenKeeper {
  /** Replaces the token of the same user and origin. */
  save(token: Omit<HostToken, "id">): Promise<HostToken>;
  byId(id: number): Promise<HostToken | null>;
  ofUser(userId: number): Promise<HostToken[]>;
  all(): Promise<HostToken[]>;
  setCiphertext(id: number, ciphertext: string): Promise<void>;
  delete(id: number): Promise<boolean>;
}
