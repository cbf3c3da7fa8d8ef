import { type Reason, renderReason } from "../../reason/reason.ts";
import { visibleText } from "../../visible-text.ts";

/**
 * Text of other people (commit messages, authors, branches, log lines) in chat messages. It must appear as written: no
 * mention, no link, no markup. Each service has its own rule for that.
 */

/** One line of at most `maxLength` characters, without characters that hide or reorder text. */
export function oneLine(reason: Reason, maxLength: number): string {
  const start = renderReason(reason)
    .slice(0, 2 * maxLength + 2)
    .toWellFormed();
  const line = visibleText(start.replaceAll(/\s+/g, " ").trim());
  const characters = [...line];
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join("")}…`;
}

const alike: Readonly<Record<string, string>> = {
  "*": "＊",
  _: "＿",
  "`": "｀",
  "[": "［",
  "]": "］",
  "(": "（",
  ")": "）",
  "#": "＃",
  "<": "＜",
  ">": "＞",
  "!": "！",
  "~": "～",
  "|": "｜",
  "@": "＠",
  "\\": "＼",
  "&": "＆",
};

/** Breaks what a client would recognise as a link; it is not visible. */
const wordJoiner = "\u2060";

/**
 * For the Markdown of services that document no escape character (DingTalk, WeCom): special characters become their
 * full-width forms, which look alike, and host names are not turned into links.
 */
export function withoutMarkdown(text: string): string {
  return text
    .replaceAll(/[*_`[\]()#<>!~|@\\&]/g, (character) => alike[character] ?? character)
    .replaceAll("://", ":／／")
    .replaceAll(/(?<=[\p{L}\p{N}])\.(?=[\p{L}\p{N}])/gu, `.${wordJoiner}`);
}

/** Discord and Slack's fallback: inside a code span only the closing character is special. */
export function codeSpan(text: string): string {
  return `\`${text.replaceAll("`", "ˋ")}\``;
}

export function codeBlock(lines: string[]): string {
  return `\`\`\`\n${lines.join("\n").replaceAll("`", "ˋ")}\n\`\`\``;
}

/** Telegram's HTML: three characters are special, and the quote inside an attribute. */
export function html(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** The last lines whose total size is at most `max`. */
export function lastThatFit(lines: string[], max: number, sizeOf: (line: string) => number): string[] {
  let left = max;
  const first = lines.findLastIndex((line) => {
    left -= sizeOf(line) + 1;
    return left < 0;
  });
  return lines.slice(first + 1);
}
