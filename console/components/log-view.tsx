import { TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { type KeyboardEvent, useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { copyLog, downloadLog } from "../log-file.ts";
import type { LogLines, LogSegment } from "../log-lines.ts";
import { useLogSearch } from "../log-search.ts";
import { t } from "../text/text.ts";
import { zoneText } from "../zoned-time.ts";
import { BarButton } from "./bar-button.tsx";
import { Icon } from "./icon.tsx";
import { LogRows, type LogRowsHandle } from "./log-rows.tsx";
import { StepHead } from "./step-head.tsx";

/** A log of any length: only the lines in sight are on the page. Follows its end while it grows, until the user scrolls up. */
export function LogView({
  log,
  taskId,
  isRunning,
  opensAt,
}: {
  log: LogLines;
  taskId: number;
  isRunning: boolean;
  /** The line to begin with, where the address names none; null: the first. */
  opensAt: number | null;
}) {
  useSyncExternalStore(log.subscribe, () => log.version);
  const count = log.next;
  const rows = useRef<LogRowsHandle>(null);
  const [isFollowing, setFollowing] = useState(isRunning && location.hash === "");
  const [wanted, setWanted] = useState("");
  const [current, setCurrent] = useState(0);
  const [marked, setMarked] = useState(() => lineOfHash(location.hash));
  const [isWrapped, setWrapped] = useLocalStorage({ key: "slipway-log-wrap", defaultValue: false });
  const [hasTimes, setTimes] = useLocalStorage({ key: "slipway-log-times", defaultValue: false });
  const [collapsed, setCollapsed] = useState<ReadonlySet<number>>(new Set());
  const matches = useLogSearch(log, wanted, count);

  useEffect(() => {
    if (isFollowing && count > 0) rows.current?.scrollTo(count - 1, "end");
  }, [isFollowing, count]);

  useEffect(() => {
    const follow = () => setMarked(lineOfHash(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);

  /** Shows a line, also if its stage is collapsed. */
  const show = useCallback(
    (index: number) => {
      setFollowing(false);
      const segment = log.segments.find(({ from, to }) => from <= index && index < to);
      setCollapsed((before) =>
        segment === undefined || !before.has(segment.from)
          ? before
          : new Set([...before].filter((from) => from !== segment.from)),
      );
      requestAnimationFrame(() => rows.current?.scrollTo(index, "center"));
    },
    [log],
  );

  // The line of the address is shown once, as soon as it has arrived.
  const isMarkedThere = marked !== null && marked < count;
  useEffect(() => {
    if (marked !== null && isMarkedThere) show(marked);
  }, [marked, isMarkedThere, show]);

  // Where nobody has chosen a line: once, as soon as it is known.
  const hasOpened = useRef(false);
  useEffect(() => {
    if (opensAt === null || hasOpened.current || location.hash !== "") return;
    hasOpened.current = true;
    show(opensAt);
  }, [opensAt, show]);

  // The first match is shown as soon as it is found.
  const firstMatch = matches.indexes[0];
  useEffect(() => {
    if (firstMatch !== undefined) show(firstMatch);
  }, [firstMatch, show]);

  const step = (by: number) => {
    const { indexes } = matches;
    if (indexes.length === 0) return;
    const at = (current + by + indexes.length) % indexes.length;
    setCurrent(at);
    show(indexes[at] ?? 0);
  };
  const onSearchKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  const onScrollUp = useCallback(() => setFollowing(false), []);
  const onToggle = useCallback(({ from }: LogSegment) => {
    setFollowing(false);
    setCollapsed((before) => {
      const after = new Set(before);
      if (!after.delete(from)) after.add(from);
      return after;
    });
  }, []);
  const head = useCallback(
    (segment: LogSegment, top: number) => (
      <StepHead {...{ log, segment, top, onToggle }} isCollapsed={collapsed.has(segment.from)} />
    ),
    [log, collapsed, onToggle],
  );
  const isAllCollapsed = log.segments.length > 0 && log.segments.every(({ from }) => collapsed.has(from));
  const zone = zoneText();

  return (
    <section className="log" aria-label={t("task.log", { id: String(taskId) })}>
      <div className="log-bar">
        <TextInput
          className="log-search"
          size="xs"
          type="search"
          aria-label={t("task.search")}
          placeholder={t("task.searchHint")}
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
                ? t("task.noMatch")
                : t(matches.isFull ? "task.matchOfMore" : "task.matchOf", {
                    current: current + 1,
                    count: matches.indexes.length,
                  })}
            </span>
            <BarButton label={t("task.previousMatch")} onClick={() => step(-1)}>
              <Icon name="up" size={14} />
            </BarButton>
            <BarButton label={t("task.nextMatch")} onClick={() => step(1)}>
              <Icon name="down" size={14} />
            </BarButton>
          </>
        )}
        <span className="log-room" />
        {isRunning && (
          <BarButton isPressed={isFollowing} onClick={() => setFollowing(!isFollowing)}>
            {t("task.follow")}
          </BarButton>
        )}
        <BarButton isPressed={isWrapped} title={t("task.wrapHint")} onClick={() => setWrapped(!isWrapped)}>
          {t("task.wrap")}
        </BarButton>
        <BarButton
          isPressed={hasTimes}
          title={t("task.timesHint", { zone })}
          onClick={() => setTimes(!hasTimes)}
        >
          {t("task.times")}
        </BarButton>
        {log.segments.length > 1 && (
          <BarButton
            onClick={() =>
              setCollapsed(isAllCollapsed ? new Set() : new Set(log.segments.map(({ from }) => from)))
            }
          >
            {t(isAllCollapsed ? "task.expandAll" : "task.collapseAll")}
          </BarButton>
        )}
        <BarButton onClick={() => show(0)}>{t("task.top")}</BarButton>
        <BarButton onClick={() => show(count - 1)}>{t("task.end")}</BarButton>
        <BarButton icon="copy" title={t("task.copyHint")} onClick={() => void copyLog(log)}>
          {t("task.copy")}
        </BarButton>
        <BarButton icon="download" onClick={() => download(log, taskId)}>
          {t("task.download")}
        </BarButton>
      </div>
      <LogRows
        ref={rows}
        log={log}
        count={count}
        wanted={wanted}
        marked={marked}
        current={matches.indexes[current]}
        isWrapped={isWrapped}
        hasTimes={hasTimes}
        collapsed={collapsed}
        head={head}
        onMark={setMarked}
        onScrollUp={onScrollUp}
      />
      <div className="log-foot figures">
        {footOf(log, isRunning)}
        {hasTimes && ` ${t("task.zone", { zone })}`}
      </div>
    </section>
  );
}

function footOf(log: LogLines, isRunning: boolean): string {
  const count = log.next;
  if (count === 0) return t(isRunning ? "task.waitingForLine" : "task.noLines");
  return t(log.isComplete ? "task.lineCount" : "task.lineCountMore", { count });
}

/** `#L120` → 119. */
function lineOfHash(hash: string): number | null {
  const number = Number(/^#L(\d{1,9})$/.exec(hash)?.[1]);
  return number > 0 ? number - 1 : null;
}

function download(log: LogLines, taskId: number): void {
  downloadLog(
    log,
    `task-${taskId}.log`,
    (index, line, stage) => `${new Date(log.timeAt(index)).toISOString()} ${stage.padEnd(8)} ${line}`,
  );
}
