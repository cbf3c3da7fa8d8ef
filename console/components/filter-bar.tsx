import { Autocomplete, Button } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import { complain } from "../act.ts";
import { idOf } from "../address.ts";
import {
  type FilterProblem,
  type FilterWord,
  filterTextOf,
  problemOf,
  readFilterText,
  suggestionsFor,
  typedWord,
} from "../filter-text.ts";
import { projectIdOf, projectNamesQuery, useProjectName } from "../project-names.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { Icon } from "./icon.tsx";

const typingMs = 150;

interface Filtering {
  words: readonly FilterWord[];
  /** As they are in the address. */
  filters: Readonly<Record<string, string>>;
  change: (filters: Record<string, string>) => void;
  /** Known values of a parameter that takes any text. */
  choices?: Readonly<Record<string, readonly string[]>>;
}

/** Filters of a list: one text with suggestions, and a button that shows a field for each. */
export function FilterBar({
  example,
  fields,
  children,
  ...filtering
}: Filtering & { example: string; fields: ReactNode; children?: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const fieldsId = useId();
  const active = Object.values(filtering.filters).filter((value) => value !== "").length;
  const ignored = useIgnoredParameters(filtering.words);
  const clear = () =>
    filtering.change(Object.fromEntries(Object.keys(filtering.filters).map((name) => [name, ""])));
  return (
    <>
      <div className="filter-bar">
        <FilterText {...filtering} example={example} />
        <Button
          variant="default"
          aria-expanded={isOpen}
          aria-controls={fieldsId}
          onClick={() => setOpen(!isOpen)}
        >
          {active === 0 ? t("filter.fields") : t("filter.fieldsActive", { count: active })}
        </Button>
        {active > 0 && (
          <Button variant="subtle" onClick={clear}>
            {t("filter.clear")}
          </Button>
        )}
        {children}
      </div>
      {ignored.length > 0 && (
        <p role="alert" className="filter-ignored foreign">
          {ignored.join(" ")}
        </p>
      )}
      <div id={fieldsId} className="filters" hidden={!isOpen}>
        {isOpen && fields}
      </div>
    </>
  );
}

/** Parameters of pages with lists that are no filters. */
const otherParameters = ["page", "deploy"];

/** What the address asks for and the list cannot do, in sentences. */
function useIgnoredParameters(words: readonly FilterWord[]): string[] {
  const [search] = useSearchParams();
  const known = new Map(words.map((word) => [word.parameter, word]));
  const unknown = [...new Set(search.keys())].filter(
    (name) => !known.has(name) && !otherParameters.includes(name),
  );
  const wrong = [...search].flatMap(([name, value]) => {
    const word = known.get(name);
    if (word === undefined || value === "") return [];
    if (name === "projectId")
      return idOf(value) === null ? [t("filter.noProject", { name: visible(value) })] : [];
    const problem = problemOf(word, value);
    return problem === null ? [] : [sentenceOf(problem, words)];
  });
  if (unknown.length === 0) return wrong;
  const list = (names: string[]) => visible(names.join(t("words.listSeparator")));
  return [t("filter.unknownParameters", { names: list(unknown), known: list([...known.keys()]) }), ...wrong];
}

function FilterText({ words, filters, change, choices = {}, example }: Filtering & { example: string }) {
  const projectId = filters.projectId ?? "";
  const projectName = visible(useProjectName(projectId) ?? projectId);
  const shown = filterTextOf({ ...filters, projectId: projectName }, words);
  const [text, setText] = useState(shown);
  const [known, setKnown] = useState(shown);
  const [faults, setFaults] = useState<string[]>([]);
  const [isOpen, setOpen] = useState(false);
  const goesOn = useRef(false);
  const edit = (typed: string) => {
    setText(typed);
    setFaults([]);
  };
  if (known !== shown) {
    setKnown(shown);
    edit(shown);
  }

  // Mantine keeps naming the option that the arrows chose after other suggestions have replaced it.
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    const chosen = field.current?.getAttribute("aria-activedescendant") ?? "";
    if (document.getElementById(chosen) === null) field.current?.removeAttribute("aria-activedescendant");
  });

  const typed = typedWord(text);
  const [wanted] = useDebouncedValue(typed.value, typingMs);
  const isProject = typed.word === "project";
  const names = useQuery({ ...projectNamesQuery(wanted), enabled: isProject });
  const projects = isProject ? (names.data?.items ?? []).map(({ name }) => visible(name)) : [];
  const suggestions = suggestionsFor(text, words, ({ parameter }) =>
    parameter === "projectId" ? projects : (choices[parameter] ?? []),
  );

  const confirm = async (confirmed: string) => {
    const { filters: read, problems } = readFilterText(confirmed, words);
    const project = read.projectId ?? "";
    const id = project === "" || project === projectName ? projectId : await projectIdOf(project);
    const found = [
      ...problems.map((problem) => sentenceOf(problem, words)),
      ...(id === undefined ? [t("filter.noProject", { name: project })] : []),
    ];
    setFaults(found);
    if (id === undefined || found.length > 0) return;
    setOpen(false);
    change("projectId" in read ? { ...read, projectId: project === "" ? "" : id } : read);
  };
  const apply = (confirmed: string) => void confirm(confirmed).catch(complain);
  const onKey = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    const list = document.getElementById(event.currentTarget.getAttribute("aria-controls") ?? "");
    if (list?.querySelector("[data-combobox-selected]")) return;
    apply(text);
  };
  return (
    <Autocomplete
      ref={field}
      aria-label={t("filter.text")}
      className="filter-text"
      placeholder={example}
      leftSection={<Icon name="search" size={16} />}
      maxLength={500}
      spellCheck={false}
      value={text}
      onChange={edit}
      onKeyDown={onKey}
      error={faults.length === 0 ? null : faults.join(" ")}
      // A closed list has no options: hidden ones would be text of the page.
      data={isOpen ? suggestions.map((suggestion) => suggestion.text) : []}
      // They fit already.
      filter={({ options }) => options}
      maxDropdownHeight={560}
      comboboxProps={{ withinPortal: false }}
      renderOption={({ option }) => {
        const suggestion = suggestions.find((each) => each.text === option.value);
        return (
          <span className="filter-suggestion">
            <span className="mono foreign">{suggestion?.part}</span>
            <span className="dim small">{suggestion?.label}</span>
          </span>
        );
      }}
      dropdownOpened={isOpen}
      onDropdownOpen={() => setOpen(true)}
      onDropdownClose={() => {
        // After a word its values are suggested.
        setOpen(goesOn.current);
        goesOn.current = false;
      }}
      onOptionSubmit={(chosen) => {
        goesOn.current = chosen.endsWith(":");
        if (!goesOn.current) apply(chosen);
      }}
    />
  );
}

function sentenceOf(problem: FilterProblem, words: readonly FilterWord[]): string {
  const listOf = (names: readonly string[]) => names.join(t("words.listSeparator"));
  if (problem.kind === "word")
    return t("filter.unknownWord", {
      word: problem.word,
      known: listOf(words.map(({ word }) => `${word}:`)),
    });
  const { word, value } = problem;
  if (problem.kind === "value")
    return t("filter.unknownValue", { word: word.word, value, known: listOf(word.values ?? []) });
  if (problem.kind === "time") return t("filter.noTime", { word: word.word, value });
  return t(word.isBare ? "filter.twoBare" : "filter.twice", { word: word.word, value });
}
