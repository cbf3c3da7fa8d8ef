import { InvalidArgumentError } from "commander";

/*
 * An empty value usually comes from a shell variable that is not set. It must not be taken for an omitted option: the
 * command would then act on something else, such as the deliveries of all projects.
 */

export function textValue(value: string): string {
  if (value.trim() === "")
    throw new InvalidArgumentError("It is empty; give a value, or leave the option out.");
  return value;
}

/** The id of a project, or 0 for deliveries to addresses that belong to none. */
export function projectOrNoneValue(value: string): number {
  return value.trim() === "0" ? 0 : idValue(value);
}

/** The id of a task, project, group or runner. */
export function idValue(value: string): number {
  if (/^[1-9]\d{0,15}$/.test(value.trim())) return Number(value);
  throw new InvalidArgumentError("It must be an id: a number from 1.");
}
