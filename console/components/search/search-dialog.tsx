import { Modal, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { answerOf, api } from "../../api.ts";
import { useGroups } from "../../group-query.ts";
import { homeQuery } from "../../home-query.ts";
import { askedAction } from "../../search-actions.ts";
import { offeredActions, ownResults, resultsOf, type SearchResult, wantedOf } from "../../search-results.ts";
import type { Me } from "../../session.ts";
import { t } from "../../text/text.ts";
import { takeTyped } from "../../typed-ahead.ts";
import { Icon } from "../icon.tsx";
import { Problem } from "../page.tsx";

const typingMs = 120;

/** Finds everything by name or number. The server searches, so that the number of projects does not matter. */
export default function SearchDialog({
  me,
  isOpen,
  onClose,
  onHelp,
}: {
  me: Me;
  isOpen: boolean;
  onClose: () => void;
  /** Shows the keys. */
  onHelp: () => void;
}) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={t("search.title")}
      size="lg"
      centered={false}
      yOffset="9vh"
      classNames={{ body: "search-body" }}
    >
      <Search me={me} onClose={onClose} onHelp={onHelp} />
    </Modal>
  );
}

function Search({ me, onClose, onHelp }: { me: Me; onClose: () => void; onHelp: () => void }) {
  const [path, go] = useLocation();
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const listId = useId();
  const list = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const [wanted] = useDebouncedValue(wantedOf(text), typingMs);
  const query = useQuery({
    queryKey: ["search", wanted],
    queryFn: () => answerOf(api.search.$get({ query: { q: wanted } })),
    enabled: wanted !== "",
    placeholderData: keepPreviousData,
  });
  const [asked] = useDebouncedValue(askedAction(text)?.target, typingMs);
  // The rows of Home say what can be done with a project.
  const projects = useQuery({
    ...homeQuery({ page: 1, groupId: "", search: asked ?? "" }),
    enabled: asked !== undefined,
  });
  const mayAdd = useGroups().some(({ permission }) => permission === "manage") || me.role === "admin";
  const found = text.trim() === "" ? undefined : query.data;
  const own = ownResults(text, onHelp, me, path);
  const offered = offeredActions(text, projects.data?.projects.items ?? []);
  const results =
    text.trim() === "" ? own : [...offered, ...resultsOf(text, found, { role: me.role, mayAdd }), ...own];
  const chosen = Math.min(active, results.length - 1);
  const idOf = (index: number) => `${listId}-${index}`;

  // Before the next key: the dialog itself moves the focus a moment later.
  useLayoutEffect(() => {
    const early = takeTyped();
    setText((text) => text + early);
    field.current?.focus();
  }, []);

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  });

  const open = (result: SearchResult) => {
    onClose();
    if (typeof result.to === "string") go(result.to);
    else result.to();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const by = steps[event.key];
    if (by !== undefined && results.length > 0) {
      event.preventDefault();
      setActive((chosen + by + results.length) % results.length);
    }
    const result = results[chosen];
    if (event.key === "Enter" && result !== undefined) {
      event.preventDefault();
      open(result);
    }
  };
  const isDone = wanted === wantedOf(text) && !query.isFetching && !projects.isFetching;
  return (
    <>
      <TextInput
        ref={field}
        data-autofocus
        size="md"
        aria-label={t("search.title")}
        placeholder={t("search.placeholder")}
        leftSection={<Icon name="search" size={16} />}
        value={text}
        maxLength={200}
        role="combobox"
        aria-expanded={results.length > 0}
        aria-controls={listId}
        aria-autocomplete="list"
        {...(results.length > 0 ? { "aria-activedescendant": idOf(chosen) } : {})}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKey}
      />
      <div className="visually-hidden" role="status">
        {text.trim() !== "" && isDone && t("search.found", { count: results.length })}
      </div>
      {query.isError && <Problem problem={query.error} />}
      <div id={listId} ref={list} role="listbox" aria-label={t("search.results")} className="search-results">
        {groupsOf(results).map(({ kind, items }) => (
          <div key={kind}>
            <div className="nav-title" aria-hidden="true">
              {t(`search.kind_${kind}`)}
            </div>
            {items.map(({ result, index }) => (
              <div
                key={idOf(index)}
                id={idOf(index)}
                role="option"
                tabIndex={-1}
                aria-selected={index === chosen}
                className="search-result"
                onMouseMove={() => setActive(index)}
                onClick={() => open(result)}
                onKeyDown={onKey}
              >
                <span className="visually-hidden">{t(`search.kind_${kind}`)}: </span>
                <span className="search-title">{result.title}</span>
                <span className="dim small cut">{result.detail}</span>
              </div>
            ))}
          </div>
        ))}
      </div>
      {text.trim() === "" && <p className="dim small search-hint">{t("search.hint")}</p>}
      {text.trim() !== "" && isDone && results.length === 0 && (
        <p className="dim small search-hint">{t("search.nothing", { text: text.trim() })}</p>
      )}
    </>
  );
}

/** Neighbouring results of one kind. */
function groupsOf(results: SearchResult[]) {
  const groups: { kind: SearchResult["kind"]; items: { result: SearchResult; index: number }[] }[] = [];
  for (const [index, result] of results.entries()) {
    const last = groups.find(({ kind }) => kind === result.kind);
    if (last === undefined) groups.push({ kind: result.kind, items: [{ result, index }] });
    else last.items.push({ result, index });
  }
  return groups;
}
