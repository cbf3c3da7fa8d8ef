/** The filters of a list as one text. */
export const filter = {
  text: "Filter",
  fields: "Filters",
  fieldsActive: { one: "Filters ({count} active)", other: "Filters ({count} active)" },
  clear: "Clear the filters",
  unknownWord: "{word} is not a filter. Filters: {known}.",
  unknownValue: "{word} has no value “{value}”. Values: {known}.",
  noTime: "{word}: {value} is not a date such as 2026-01-31 or 2026-01-31T18:00.",
  unknownParameters:
    "The address has parameters that this list does not know, and ignores: {names}. Known: {known}.",
  noProject: "No project has the name {name}.",
  twice: "{word} is given twice.",
  twoBare:
    "{value} is a second {word}. Write a filter before it, or put text with spaces in quotation marks.",
} as const;
