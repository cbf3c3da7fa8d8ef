import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, type Ref, useImperativeHandle, useRef } from "react";
import type { LogLines } from "../log-lines.ts";
import { LogText } from "./log-line.tsx";
import { reachable } from "./page.tsx";

const lineHeight = 20;

export interface LogRowsHandle {
  scrollTo(index: number, align: "start" | "center" | "end"): void;
}

/** The lines in sight, and only those. Apart from the bar above it, so that scrolling draws nothing but lines. */
export const LogRows = memo(function LogRows({
  ref,
  log,
  count,
  wanted,
  marked,
  current,
  onMark,
  onScrollUp,
}: {
  ref: Ref<LogRowsHandle>;
  log: LogLines;
  /** How many lines there are: a change of it draws again. */
  count: number;
  wanted: string;
  marked: number | null;
  current: number | undefined;
  onMark: (index: number) => void;
  onScrollUp: () => void;
}) {
  const scroller = useRef<HTMLElement>(null);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => lineHeight,
    overscan: 8,
  });
  useImperativeHandle(ref, () => ({ scrollTo: (index, align) => rows.scrollToIndex(index, { align }) }), [
    rows,
  ]);
  const lastTop = useRef(0);
  const scrolled = () => {
    const top = scroller.current?.scrollTop ?? 0;
    if (top < lastTop.current) onScrollUp();
    lastTop.current = top;
  };
  return (
    <section
      ref={scroller}
      className="log-scroll"
      style={{ height: `clamp(120px, ${(count + 1) * lineHeight}px, 68vh)` }}
      aria-label="Lines"
      onScroll={scrolled}
      {...reachable}
    >
      <div className="log-lines" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start }) => (
          <Line
            key={index}
            index={index}
            top={start}
            stage={log.lines[index]?.stage ?? ""}
            isFirstOfStage={log.lines[index - 1]?.stage !== log.lines[index]?.stage}
            text={log.lines[index]?.text ?? ""}
            wanted={wanted}
            isMarked={index === marked}
            isCurrent={index === current}
            onMark={onMark}
          />
        ))}
      </div>
    </section>
  );
});

const Line = memo(function Line({
  index,
  top,
  stage,
  isFirstOfStage,
  text,
  wanted,
  isMarked,
  isCurrent,
  onMark,
}: {
  index: number;
  top: number;
  stage: string;
  isFirstOfStage: boolean;
  text: string;
  wanted: string;
  isMarked: boolean;
  isCurrent: boolean;
  onMark: (index: number) => void;
}) {
  return (
    <div
      className="log-line"
      data-stage={stage}
      data-first={(isFirstOfStage && index > 0) || undefined}
      data-marked={isMarked || undefined}
      data-current={isCurrent || undefined}
      style={{ transform: `translateY(${top}px)` }}
    >
      <a
        className="log-number"
        href={`#L${index + 1}`}
        aria-label={`Line ${index + 1}`}
        onClick={() => onMark(index)}
      >
        {index + 1}
      </a>
      <span className="log-stage">{isFirstOfStage && stage}</span>
      <span className="log-text">
        <LogText text={text} marked={wanted} />
      </span>
    </div>
  );
});
