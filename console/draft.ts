import { type FormEvent, useState } from "react";

/**
 * What somebody changed in a form before it is saved. The rest shows what the server has, also when that changes
 * meanwhile, and only the changes are sent: what others saved beside them stays.
 */
export function useDraft<T extends object>(stored: T) {
  const [typed, setTyped] = useState<Partial<T>>({});
  const changes = changesOf(stored, typed);
  const reset = () => setTyped({});
  return {
    value: { ...stored, ...typed },
    changes,
    isChanged: Object.keys(changes).length > 0,
    set: (change: Partial<T>) => setTyped((before) => ({ ...before, ...change })),
    reset,
    submit: (save: (changes: Partial<T>) => Promise<unknown>) => submitting(() => save(changes), reset),
  };
}

/** Without what was typed and undone again. */
function changesOf<T extends object>(stored: T, typed: Partial<T>): Partial<T> {
  const isChange = (name: string) =>
    JSON.stringify(typed[name as keyof T]) !== JSON.stringify(stored[name as keyof T]);
  return Object.fromEntries(Object.entries(typed).filter(([name]) => isChange(name))) as Partial<T>;
}

/** For a form's onSubmit: saves, then shows what the server has again. */
export function submitting(save: () => Promise<unknown>, reset: () => void) {
  return async (event: FormEvent) => {
    event.preventDefault();
    // What was refused is shown by the form; the text stays for another try.
    const isSaved = await save().then(
      () => true,
      () => false,
    );
    if (isSaved) reset();
  };
}
