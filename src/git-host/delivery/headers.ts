/** Read access to headers. */
export interface HeaderValues {
  get(name: string): string | null;
}

/** The first of the headers that is sent and not blank; "" when none is. */
export function firstHeader(headers: HeaderValues, names: readonly string[]): string {
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null && value.trim() !== "") return value.trim();
  }
  return "";
}
