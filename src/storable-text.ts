/** Text that every database accepts: PostgreSQL stores no NUL, and half a surrogate pair is not valid text. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}
