import type { HostKind } from "../../git-host/hosts.ts";
import type { Reason } from "../../reason/reason.ts";

/**
 * `ok`: as created. `missing`, `disabled`, `changed`: differs at the host. `unknown`: the host did not tell, for example
 * because the token is no longer valid.
 */
export const hookStates = ["ok", "missing", "disabled", "changed", "unknown"] as const;
export type HookState = (typeof hookStates)[number];

/** A webhook, and possibly a deploy key, that Slipway created at a Git host. */
export interface HostHook {
  projectId: number;
  /** The token that created it and checks it; null: the user has deleted it, so the hook is not checked. */
  tokenId: number | null;
  kind: HostKind;
  origin: string;
  /** `group/shop`. */
  path: string;
  hookId: string;
  /** Null: no deploy key was created. */
  keyId: string | null;
  state: HookState;
  /** What differs, for people. */
  note: Reason;
  checkedAt: Date;
  nextCheckAt: Date;
}

export interface HostHookKeeper {
  save(hook: HostHook): Promise<void>;
  /** Stores what was done at the host. False: the hook was deleted, replaced or lost its token meanwhile; nothing is stored. */
  change(before: HostHook, after: HostHook): Promise<boolean>;
  /** As `change`, for a check of `examined`. False also if the hook was repaired or checked meanwhile: that is newer. */
  saveCheck(examined: HostHook, found: HostHook): Promise<boolean>;
  ofProject(projectId: number): Promise<HostHook | null>;
  /** Hooks with a token whose check is due. */
  due(now: Date, limit: number): Promise<HostHook[]>;
  delete(projectId: number): Promise<boolean>;
}
