import { useCallback, useEffect, useRef, useState } from "react";
import { complain } from "./act.ts";
import { answerOf, api } from "./api.ts";
import { type OutputPart, type OutputWindow, windowAtEnd, withEarlier, withLater } from "./output-window.ts";

/** Lines of the first look, and of each look further back. */
const pageLines = 500;
const maxLines = 2000;
const waitSeconds = 20;
/** Output that is further ahead than this is not read line by line: the page continues at its end. */
const jumpBytes = 1_000_000;
/** Between two reads, so that a service that writes all the time does not keep the page busy. */
const pauseMs = 400;
/** After a read without an answer. */
const againMs = 4000;

interface ReadQuery {
  direction: "forward" | "backward";
  position?: number;
  lines: number;
  waitSeconds?: number;
}

export interface ServiceOutput {
  /** Null: nothing was read yet. */
  window: OutputWindow | null;
  /** Why the last read failed. */
  problem: unknown;
  isReading: boolean;
  /** Reads a page before the window. Gives how many lines it has. */
  readEarlier: () => Promise<number>;
}

/** The output of a service from its end: it grows while it is followed, and backwards when asked. Another `search` begins anew. */
export function useServiceOutput(
  { projectId, name, search }: { projectId: number; name: string; search: string },
  isFollowing: boolean,
): ServiceOutput {
  const [shown, setShown] = useState<{ search: string; window: OutputWindow } | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [isReading, setReading] = useState(false);
  const current = useRef<typeof shown>(null);

  const read = useCallback(
    (query: ReadQuery, signal?: AbortSignal): Promise<OutputPart> => {
      const path = api.projects[":id"].services[":name"].output;
      const asked = { param: { id: projectId, name }, query: { ...query, search } };
      return answerOf(path.$get(asked, signal === undefined ? {} : { init: { signal } }));
    },
    [projectId, name, search],
  );
  const show = useCallback(
    (window: OutputWindow) => {
      current.current = { search, window };
      setShown(current.current);
    },
    [search],
  );

  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;

    /** False: there is nothing more to read. */
    async function readMore(): Promise<boolean> {
      const known = current.current?.search === search ? current.current.window : null;
      if (known !== null && !isFollowing) return false;
      const part = await read(
        known === null
          ? { direction: "backward", lines: pageLines }
          : { direction: "forward", position: known.after, lines: maxLines, waitSeconds },
        signal,
      );
      if (signal.aborted) return false;
      const isFarBehind = known !== null && part.to - part.next > jumpBytes;
      const atEnd = isFarBehind ? await read({ direction: "backward", lines: pageLines }, signal) : part;
      if (signal.aborted) return false;
      if (known === null || isFarBehind) show(windowAtEnd(atEnd, search));
      else if (part.next !== known.after || part.lines.length > 0) show(withLater(known, part));
      return true;
    }

    async function readOn(): Promise<void> {
      for (let isOpen = true; isOpen && !signal.aborted; ) {
        try {
          isOpen = await readMore();
          setProblem(null);
          if (isOpen) await sleep(pauseMs);
        } catch (fault) {
          if (signal.aborted) return;
          setProblem(fault);
          await sleep(againMs);
        }
      }
    }

    void readOn();
    return () => stop.abort();
  }, [read, show, search, isFollowing]);

  const readEarlier = useCallback(async () => {
    const known = current.current;
    if (known === null || known.search !== search) return 0;
    setReading(true);
    try {
      const part = await read({ direction: "backward", position: known.window.before, lines: pageLines });
      // What arrived meanwhile stays; another search has its own window.
      const now = current.current;
      if (now?.search !== search || now.window.before !== known.window.before) return 0;
      show(withEarlier(now.window, part));
      return part.lines.length;
    } catch (fault) {
      complain(fault);
      return 0;
    } finally {
      setReading(false);
    }
  }, [read, show, search]);

  return { window: shown?.search === search ? shown.window : null, problem, isReading, readEarlier };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
