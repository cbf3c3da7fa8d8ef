import {
  Fragment,
  memo,
  type ReactNode,
  type Ref,
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from "react";
import { headHeight, LogLayout, lineHeight } from "../log-layout.ts";
import type { LogSegment, LogSource } from "../log-lines.ts";
import { t } from "../text/text.ts";
import { zonedText, zonedTimeText } from "../zoned-time.ts";
import { LogText } from "./log-line.tsx";
import { reachable } from "./page.tsx";

/** Rows drawn above and below those in sight. */
const overscan = 8 * lineHeight;
/** A place this near to the end is the end. */
const endPixels = 2;
const none: ReadonlySet<number> = new Set();

export interface LogRowsHandle {
  scrollTo(index: number, align: "start" | "center" | "end"): void;
}

/** The lines in sight, and only those. A component of its own, so that scrolling renders only lines. */
export const LogRows = memo(function LogRows({
  ref,
  log,
  count,
  wanted,
  marked = null,
  current,
  isWrapped,
  hasTimes = false,
  collapsed = none,
  head,
  onMark,
  onScrollUp,
}: {
  ref: Ref<LogRowsHandle>;
  log: LogSource;
  /** How many lines there are: a change of it renders again. */
  count: number;
  wanted: string;
  marked?: number | null;
  current?: number | undefined;
  isWrapped: boolean;
  hasTimes?: boolean;
  /** First lines of the segments that are collapsed. */
  collapsed?: ReadonlySet<number>;
  /** What stands above the lines of a segment, `headHeight` high and at this place. */
  head: (segment: LogSegment, top: number) => ReactNode;
  /** Without it lines have no numbers. */
  onMark?: (index: number) => void;
  onScrollUp: () => void;
}) {
  const scroller = useRef<HTMLElement>(null);
  const ruler = useRef<HTMLSpanElement>(null);
  const [view, setView] = useState({ top: 0, height: 600, columns: 80 });
  const columns = isWrapped ? view.columns : null;
  const layout = useMemo(
    // The log changes in place, so its length is the dependency.
    () => (count < 0 ? null : new LogLayout(log, ({ from }) => collapsed.has(from), columns)),
    [log, count, collapsed, columns],
  );
  useImperativeHandle(
    ref,
    () => ({
      scrollTo(index, align) {
        const element = scroller.current;
        const top = layout?.topOf(index) ?? null;
        if (element === null || top === null) return;
        const room = element.clientHeight - lineHeight;
        element.scrollTop = top - (align === "start" ? headHeight : align === "center" ? room / 2 : room - 4);
      },
    }),
    [layout],
  );
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const measure = () => {
      const charWidth = (ruler.current?.getBoundingClientRect().width ?? 800) / 100;
      const gutter = ruler.current?.offsetLeft ?? 0;
      const width = element.clientWidth - gutter - 24;
      setView((before) => ({
        ...before,
        height: element.clientHeight,
        columns: Math.max(10, Math.floor(width / charWidth)),
      }));
    };
    const watcher = new ResizeObserver(measure);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  const scrolled = () => {
    const element = scroller.current;
    if (element === null) return;
    const top = element.scrollTop;
    // Lines that were dropped move the end up, too.
    const isAtEnd = element.scrollHeight - element.clientHeight - top < endPixels;
    if (top < view.top && !isAtEnd) onScrollUp();
    setView((before) => ({ ...before, top }));
  };
  const height = layout?.height ?? 0;
  const rows = layout?.rowsIn(view.top - overscan, view.top + view.height + overscan) ?? [];
  return (
    <section
      ref={scroller}
      className="log-scroll"
      data-wrapped={isWrapped || undefined}
      data-times={hasTimes || undefined}
      data-numbers={onMark !== undefined || undefined}
      style={{ height: `clamp(120px, ${height + lineHeight}px, 68vh)` }}
      aria-label={t("task.lines")}
      onScroll={scrolled}
      {...reachable}
    >
      <div className="log-ruler" aria-hidden="true">
        {onMark && <span className="log-number" />}
        {hasTimes && <span className="log-time" />}
        <span ref={ruler}>{"0".repeat(100)}</span>
      </div>
      <div className="log-lines" style={{ height }}>
        {rows.map((row) =>
          row.kind === "head" ? (
            <Fragment key={`head ${row.segment.from} ${row.segment.title}`}>
              {head(row.segment, row.top)}
            </Fragment>
          ) : (
            <Line
              key={row.index}
              index={row.index}
              top={row.top}
              height={row.height}
              stage={row.segment.stage}
              text={log.textAt(row.index)}
              atMs={hasTimes ? log.timeAt(row.index) : null}
              wanted={wanted}
              isMarked={row.index === marked}
              isCurrent={row.index === current}
              onMark={onMark}
            />
          ),
        )}
      </div>
    </section>
  );
});

const Line = memo(function Line({
  index,
  top,
  height,
  stage,
  text,
  atMs,
  wanted,
  isMarked,
  isCurrent,
  onMark,
}: {
  index: number;
  top: number;
  height: number;
  stage: string;
  text: string;
  atMs: number | null;
  wanted: string;
  isMarked: boolean;
  isCurrent: boolean;
  onMark: ((index: number) => void) | undefined;
}) {
  return (
    <div
      className="log-line"
      data-stage={stage}
      data-marked={isMarked || undefined}
      data-current={isCurrent || undefined}
      style={{ transform: `translateY(${top}px)`, height }}
    >
      {onMark && (
        <a
          className="log-number"
          href={`#L${index + 1}`}
          aria-label={t("task.line", { number: index + 1 })}
          onClick={() => onMark(index)}
        >
          {index + 1}
        </a>
      )}
      {atMs !== null && (
        <time className="log-time" dateTime={new Date(atMs).toISOString()} title={zonedText(atMs)}>
          {zonedTimeText(atMs)}
        </time>
      )}
      <span className="log-text">
        <LogText text={text} marked={wanted} />
      </span>
    </div>
  );
});
