import { notifyTargetBody } from "../../../http/api/notify-shape.ts";
import type { ProjectAnswer } from "../../../http/api/project-shape.ts";
import { isShortened, shownAddress } from "../../../task/notify/target-address.ts";
import type { ProjectFile } from "./schema.ts";
import type { Fields } from "./settings.ts";
import { type Shell, shownAs, stored } from "./shell.ts";

type Held = ProjectAnswer["notify"][number];
type Target = NonNullable<ProjectFile["notify"]>[number];

const { url: addressRule, secret: secretRule } = notifyTargetBody.shape;

export interface PlannedTargets {
  before: Fields[];
  after: Fields[];
  body: Fields[];
}

/**
 * Which notification targets an apply sends. The server shows only a part of each address: an entry whose shell variable is set is
 * matched by that part, and every other entry by its format, in order.
 */
export function planTargets(targets: Target[], held: readonly Held[], shell: Shell): PlannedTargets {
  const known = targets.map(({ url }, index) => addressOf(url, ["notify", index, "url"], shell));
  const found = matched(targets, known, held);
  const planned = targets.map((target, index) => {
    const { format = "slipway", events = [], logLines = 0, url: sent, secret: key } = target;
    const at = ["notify", index];
    const own = found.get(index);
    const isNew = own === undefined && known[index] === undefined && typeof sent === "object";
    const url = isNew ? shell.secret([...at, "url"], sent.from, false, addressRule) : known[index];
    const secret = key && shell.secret([...at, "secret"], key.from, own?.secretSet ?? false, secretRule);
    const kept = key === null || !own?.secretSet ? null : stored;
    return {
      after: {
        format,
        url: shownUrl(sent, url ?? own?.url, shell),
        events,
        logLines,
        secret: key && secret !== undefined ? shownAs(key.from) : kept,
      },
      body: {
        ...{ id: own?.id, format, events, logLines },
        ...(url === undefined || isShortened(url) ? {} : { url }),
        ...(secret === undefined ? {} : { secret }),
      },
    };
  });
  return {
    before: held.map(({ id: _, secretSet, ...shown }) => ({ ...shown, secret: secretSet ? stored : null })),
    after: planned.map(({ after }) => after),
    body: planned.map(({ body }) => body),
  };
}

function addressOf(url: Target["url"], path: (string | number)[], shell: Shell): string | undefined {
  return typeof url === "object" ? shell.given(path, url.from, addressRule) : url;
}

function shownUrl(sent: Target["url"], url: string | undefined, shell: Shell): string {
  if (typeof sent === "object" && shell.isSentAgain(sent.from)) return shownAs(sent.from);
  return shown(url);
}

function shown(url = ""): string {
  return addressRule.safeParse(url).success ? shownAddress(url) : url;
}

/** The targets of the server for those of the file: the same address first, then the same format. */
function matched(targets: Target[], known: (string | undefined)[], held: readonly Held[]): Map<number, Held> {
  const free = new Set(held);
  const found = new Map<number, Held>();
  const take = (index: number, isMeant: (own: Held) => boolean) => {
    const own = found.has(index) ? undefined : [...free].find(isMeant);
    if (own === undefined) return;
    free.delete(own);
    found.set(index, own);
  };
  targets.forEach((_, index) => {
    const url = known[index];
    if (url !== undefined) take(index, (own) => own.url === shown(url));
  });
  targets.forEach(({ format = "slipway" }, index) => {
    take(index, (own) => own.format === format);
  });
  return found;
}
