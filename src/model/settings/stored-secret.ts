import type { SecretForm, SecretScope } from "./variables.ts";

/** An encrypted value of a project or of a group; its owner and its name are bound to the ciphertext, so that rows cannot be swapped. */
export interface StoredSecret {
  name: string;
  ciphertext: string;
  /** Null: nobody has chosen, and all stages get it. */
  scope: SecretScope | null;
  as: SecretForm;
}

export type NewSecret = Omit<StoredSecret, "scope" | "as">;

/** A secret as people see it. */
export type ShownSecret = Omit<StoredSecret, "ciphertext">;

/** The secrets of one kind of owner: projects or groups. */
export interface SecretKeeper {
  secrets(ownerId: number): Promise<StoredSecret[]>;
  /** Names of the secrets of many owners at once, for lists. */
  secretNames(ownerIds: number[]): Promise<({ ownerId: number } & ShownSecret)[]>;
  setSecret(ownerId: number, name: string, ciphertext: string): Promise<void>;
  /** Sets who gets a secret, and how, as far as it is given. */
  setSecretUse(
    ownerId: number,
    name: string,
    use: Partial<Pick<StoredSecret, "scope" | "as">>,
  ): Promise<void>;
  deleteSecret(ownerId: number, name: string): Promise<boolean>;
}
