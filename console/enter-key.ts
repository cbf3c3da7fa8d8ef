/** Inputs in which no text is typed, or in which Enter has a meaning of its own: it adds a tag or chooses an option. */
const withoutText = 'input:is([type="checkbox"], [type="radio"], [role="combobox"])';

/** Enter in a text field sends its form. In other fields browsers do the same; there it is not what the user means. */
export function keepEnterFromSending(): void {
  document.addEventListener("keydown", (event) => {
    const isElsewhere = event.target instanceof Element && event.target.matches(withoutText);
    if (event.key === "Enter" && isElsewhere) event.preventDefault();
  });
}
