import { storableText } from "../../storable-text.ts";

/** Longest line that is kept; further characters are counted, not buffered. */
export const lineMaxLength = 32_768;

/** Splits a stream of text into lines. An endless line is cut visibly, so that memory stays bounded. */
export function buildLineSplitter() {
  let kept = "";
  let cut = 0;

  function add(piece: string): void {
    const room = lineMaxLength - kept.length;
    kept += room >= piece.length ? piece : piece.slice(0, room);
    cut += Math.max(0, piece.length - room);
  }

  function finishLine(): string {
    const line = cut > 0 ? `${kept} [line cut: ${cut} more characters]` : kept.replace(/\r$/, "");
    kept = "";
    cut = 0;
    return storableText(line);
  }

  return {
    push(text: string): string[] {
      const pieces = text.split("\n");
      const last = pieces.pop() ?? "";
      const lines = pieces.map((piece) => {
        add(piece);
        return finishLine();
      });
      add(last);
      return lines;
    },
    /** The last line, if it had no line end. */
    end: () => (kept === "" && cut === 0 ? [] : [finishLine()]),
  };
}
