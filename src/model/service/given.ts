type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Without what was not sent. */
export function given<T extends object>(sent: T): Given<T> {
  return Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined)) as Given<T>;
}
