import type { HomeRow } from "./home-query.ts";
import { t } from "./text/text.ts";
import { visible } from "./visible.ts";

const verbs = ["rollback", "promote", "approve"] as const;
type Verb = (typeof verbs)[number];

/** Letters of a verb from which on it is recognized. */
const leastLetters = 3;
const shown = 5;

/** `roll back shop` → what is asked for, and of which project; null: the text asks for none of the actions. */
export function askedAction(text: string): { verb: Verb; target: string } | null {
  const typed = text.trim().toLowerCase().replace(/\s+/g, " ");
  for (const verb of verbs)
    for (const phrase of t(`search.${verb}Words`).split("|")) {
      if (typed === phrase || typed.startsWith(`${phrase} `))
        return { verb, target: typed.slice(phrase.length).trim() };
      if (typed.length >= leastLetters && phrase.startsWith(typed)) return { verb, target: "" };
    }
  return null;
}

interface Offer {
  title: string;
  to: string;
}

/** The places where the projects can be acted on so. */
export function offersOf(verb: Verb, target: string, rows: readonly HomeRow[]): Offer[] {
  // The rows may be the answer to an earlier text.
  const managed = rows.filter(
    ({ permission, name }) => permission === "manage" && name.toLowerCase().includes(target),
  );
  return managed.flatMap((row) => placesOf[verb](row)).slice(0, shown);
}

const titleOf = (verb: Verb, project: string) => t(`search.${verb}`, { project: visible(project) });

const placesOf: Record<Verb, (row: HomeRow) => Offer[]> = {
  rollback: ({ projectId, name, live, environments }) =>
    [
      { projectId, name, live: environments.length === 0 ? live : null },
      ...environments.map((each) => ({ ...each, name: `${name}/${each.name}` })),
    ]
      .filter((place) => place.live !== null)
      .map((place) => ({
        title: titleOf("rollback", place.name),
        to: `/projects/${place.projectId}/releases`,
      })),
  promote: ({ projectId, name, environments }) =>
    environments.length < 2 ? [] : [{ title: titleOf("promote", name), to: `/projects/${projectId}` }],
  approve: ({ name, current }) =>
    current?.state === "waiting" ? [{ title: titleOf("approve", name), to: `/tasks/${current.taskId}` }] : [],
};
