import { TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { type FormEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { copyLog, downloadLog } from "../log-file.ts";
import type { LogSegment } from "../log-lines.ts";
import { hasEarlier, OutputLog, type OutputMark, type OutputWindow } from "../output-window.ts";
import type { Service } from "../shapes.ts";
import { t } from "../text/text.ts";
import { exactText } from "../time-text.ts";
import { useServiceOutput } from "../use-service-output.ts";
import { BarButton } from "./bar-button.tsx";
import { Icon } from "./icon.tsx";
import { LogRows, type LogRowsHandle } from "./log-rows.tsx";
import { Problem } from "./page.tsx";

const nothing: OutputWindow = { lines: [], marks: [], before: 0, after: 0, first: 0 };

/** What a service writes: live, backwards, and searched by its runner. */
export function ServiceOutputView({ projectId, service: { name } }: { projectId: number; service: Service }) {
  const rows = useRef<LogRowsHandle>(null);
  const [typed, setTyped] = useState("");
  const [search, setSearch] = useState("");
  const [isFollowing, setFollowing] = useState(true);
  const [isWrapped, setWrapped] = useLocalStorage({ key: "slipway-log-wrap", defaultValue: false });
  const output = useServiceOutput({ projectId, name, search }, isFollowing);
  const { isReading, readEarlier } = output;
  const window = output.window ?? nothing;
  const log = useMemo(() => new OutputLog(window, search !== ""), [window, search]);
  const isMoreKept = hasEarlier(window);

  useEffect(() => {
    if (isFollowing && log.next > 0) rows.current?.scrollTo(log.next - 1, "end");
  }, [isFollowing, log]);

  const goEarlier = useCallback(async () => {
    setFollowing(false);
    const added = await readEarlier();
    // What was at the top stays in sight.
    requestAnimationFrame(() => rows.current?.scrollTo(added, "start"));
  }, [readEarlier]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSearch(typed.trim());
    setFollowing(true);
  };
  const onScrollUp = useCallback(() => setFollowing(false), []);
  const head = useCallback(
    (segment: LogSegment, top: number) => {
      const mark = log.markOf(segment);
      return (
        <div className="log-mark" data-kind={mark?.kind} style={{ transform: `translateY(${top}px)` }}>
          {mark !== undefined ? (
            <MarkText mark={mark} />
          ) : isMoreKept ? (
            <BarButton icon="up" onClick={() => void goEarlier()} isDisabled={isReading}>
              {t("services.earlier")}
            </BarButton>
          ) : (
            t("services.earliest")
          )}
        </div>
      );
    },
    [log, isMoreKept, goEarlier, isReading],
  );

  return (
    <>
      {output.problem !== null && <Problem title={t("services.outputFailed")} problem={output.problem} />}
      <section className="log" aria-label={t("services.output", { name })}>
        <div className="log-bar">
          <form className="log-search" onSubmit={submit}>
            <TextInput
              size="xs"
              type="search"
              maxLength={200}
              aria-label={t("services.search")}
              placeholder={t("services.searchHint")}
              leftSection={<Icon name="search" size={14} />}
              value={typed}
              onChange={(event) => {
                const { value } = event.currentTarget;
                setTyped(value);
                if (value === "") setSearch("");
              }}
            />
          </form>
          <span className="log-room" />
          <BarButton
            isPressed={isFollowing}
            title={t("services.followHint")}
            onClick={() => setFollowing(!isFollowing)}
          >
            {t("services.follow")}
          </BarButton>
          <BarButton isPressed={isWrapped} title={t("task.wrapHint")} onClick={() => setWrapped(!isWrapped)}>
            {t("task.wrap")}
          </BarButton>
          <BarButton icon="copy" onClick={() => void copyLog(log)}>
            {t("task.copy")}
          </BarButton>
          <BarButton icon="download" onClick={() => downloadLog(log, `${name}.log`, (_, text) => text)}>
            {t("task.download")}
          </BarButton>
        </div>
        <LogRows
          ref={rows}
          log={log}
          count={log.next}
          wanted={search}
          isWrapped={isWrapped}
          head={head}
          onScrollUp={onScrollUp}
        />
        <div className="log-foot figures" role="status">
          {output.window === null ? t("words.loading") : footOf(log.next, search, isMoreKept)}
          {!isFollowing && ` ${t("services.paused")}`}
        </div>
      </section>
    </>
  );
}

function footOf(count: number, search: string, isMoreKept: boolean): string {
  if (count > 0) return t("services.shownLines", { count });
  if (search === "") return t("services.noOutput");
  return t(isMoreKept ? "services.noMatchYet" : "services.noMatch");
}

function MarkText({ mark: { kind, at, taskId } }: { mark: OutputMark }) {
  return (
    <>
      <b>
        {kind === "cut" ? (
          t("services.markCut")
        ) : kind === "start" || taskId === null ? (
          t("services.markStart")
        ) : (
          <Link href={`/tasks/${taskId}`}>{t("services.markRelease", { id: String(taskId) })}</Link>
        )}
      </b>
      <time dateTime={at}>{exactText(at)}</time>
    </>
  );
}
