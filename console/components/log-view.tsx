import { Button, TextInput } from "@mantine/core";
import { type KeyboardEvent, useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { plainText } from "../ansi.ts";
import type { LogLines } from "../log-lines.ts";
import { useLogSearch } from "../log-search.ts";
import { Icon } from "./icon.tsx";
import { LogRows, type LogRowsHandle } from "./log-rows.tsx";

/** A log of any length: only the lines in sight are on the page. Follows its end while it grows, unless one scrolls up. */
export function LogView({ log, taskId, isRunning }: { log: LogLines; taskId: number; isRunning: boolean }) {
  useSyncExternalStore(log.subscribe, () => log.version);
  const count = log.next;
  const rows = useRef<LogRowsHandle>(null);
  const [isFollowing, setFollowing] = useState(isRunning && location.hash === "");
  const [wanted, setWanted] = useState("");
  const [current, setCurrent] = useState(0);
  const [marked, setMarked] = useState(() => lineOfHash(location.hash));
  const matches = useLogSearch(log, wanted, count);

  useEffect(() => {
    if (isFollowing && count > 0) rows.current?.scrollTo(count - 1, "end");
  }, [isFollowing, count]);

  useEffect(() => {
    const follow = () => setMarked(lineOfHash(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);

  // The line of the address is shown once, as soon as it has arrived.
  const isMarkedThere = marked !== null && marked < count;
  useEffect(() => {
    if (marked === null || !isMarkedThere) return;
    setFollowing(false);
    rows.current?.scrollTo(marked, "center");
  }, [marked, isMarkedThere]);

  // The first match is shown as soon as it is found.
  const firstMatch = matches.indexes[0];
  useEffect(() => {
    if (firstMatch === undefined) return;
    setFollowing(false);
    rows.current?.scrollTo(firstMatch, "center");
  }, [firstMatch]);

  const step = (by: number) => {
    const { indexes } = matches;
    if (indexes.length === 0) return;
    const at = (current + by + indexes.length) % indexes.length;
    setCurrent(at);
    setFollowing(false);
    rows.current?.scrollTo(indexes[at] ?? 0, "center");
  };
  const onSearchKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  // Who scrolls up wants to read; the button leads back to the end.
  const onScrollUp = useCallback(() => setFollowing(false), []);
  const currentLine = matches.indexes[current];

  return (
    <section className="log" aria-label={`Log of task ${taskId}`}>
      <div className="log-bar">
        <TextInput
          className="log-search"
          size="xs"
          type="search"
          aria-label="Search the log"
          placeholder="Search"
          leftSection={<Icon name="search" size={14} />}
          value={wanted}
          onChange={(event) => {
            setWanted(event.currentTarget.value);
            setCurrent(0);
          }}
          onKeyDown={onSearchKey}
        />
        {wanted !== "" && (
          <>
            <span className="figures" role="status">
              {matches.indexes.length === 0
                ? "no match"
                : `${current + 1} of ${matches.indexes.length}${matches.isFull ? "+" : ""} lines`}
            </span>
            <Button size="compact-xs" variant="subtle" aria-label="Previous match" onClick={() => step(-1)}>
              <Icon name="up" size={14} />
            </Button>
            <Button size="compact-xs" variant="subtle" aria-label="Next match" onClick={() => step(1)}>
              <Icon name="down" size={14} />
            </Button>
          </>
        )}
        <span style={{ flex: 1 }} />
        {isRunning && (
          <Button
            size="compact-xs"
            variant="subtle"
            aria-pressed={isFollowing}
            onClick={() => setFollowing(!isFollowing)}
          >
            Follow
          </Button>
        )}
        <Button size="compact-xs" variant="subtle" onClick={() => rows.current?.scrollTo(0, "start")}>
          Top
        </Button>
        <Button size="compact-xs" variant="subtle" onClick={() => rows.current?.scrollTo(count - 1, "end")}>
          End
        </Button>
        <Button
          size="compact-xs"
          variant="subtle"
          leftSection={<Icon name="download" size={14} />}
          onClick={() => download(log, taskId)}
        >
          Download
        </Button>
      </div>
      <LogRows
        ref={rows}
        log={log}
        count={count}
        wanted={wanted}
        marked={marked}
        current={currentLine}
        onMark={setMarked}
        onScrollUp={onScrollUp}
      />
      <div className="log-foot figures">
        {count === 0
          ? isRunning
            ? "Waiting for the first line."
            : "This task wrote nothing."
          : `${count.toLocaleString()} lines${log.isComplete ? "" : ", more to come"}`}
      </div>
    </section>
  );
}

/** `#L120` → 119. */
function lineOfHash(hash: string): number | null {
  const number = Number(/^#L(\d{1,9})$/.exec(hash)?.[1]);
  return number > 0 ? number - 1 : null;
}

function download(log: LogLines, taskId: number): void {
  const text = log.lines
    .map((line) => `${line.at} ${line.stage.padEnd(8)} ${plainText(line.text)}\n`)
    .join("");
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `task-${taskId}.log`;
  link.click();
  URL.revokeObjectURL(address);
}
