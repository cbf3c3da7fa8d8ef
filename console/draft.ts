import { type FormEvent, useState } from "react";

/**
 * What a form holds before it is saved. While nothing was changed it shows what the server has, so that a change made
 * elsewhere appears; once somebody typed, their text stays.
 */
export function useDraft<T>(stored: T) {
  const [draft, setDraft] = useState<T | null>(null);
  const value = draft ?? stored;
  const isChanged = draft !== null && JSON.stringify(draft) !== JSON.stringify(stored);
  return {
    value,
    isChanged,
    set: (change: Partial<T>) => setDraft({ ...value, ...change }),
    reset: () => setDraft(null),
    /** For a form's onSubmit: saves, then shows what the server has again. */
    submit: (save: (value: T) => Promise<unknown>) => async (event: FormEvent) => {
      event.preventDefault();
      // What was refused is shown by the form; the text stays for another try.
      const isSaved = await save(value).then(
        () => true,
        () => false,
      );
      if (isSaved) setDraft(null);
    },
  };
}
