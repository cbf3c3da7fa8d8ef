import type { ChatFormat } from "./chat-request.ts";
import { codeBlock, codeSpan, html, lastThatFit, withoutMarkdown } from "./chat-text.ts";

/** A message independent of the service. All texts except the title and the labels may come from other people. */
export interface ChatMessage {
  /** Slipway's own text. */
  title: string;
  tone: "good" | "bad" | "neutral";
  facts: { label: string; text: string }[];
  link: string;
  logLines: string[];
}

/** Message bodies as the services document them. */
export const chatBodies: Record<ChatFormat, (message: ChatMessage) => object> = {
  slack,
  discord,
  dingtalk,
  feishu,
  wecom,
  telegram,
};

/** Whether the proof of a call is the format of a chat service. */
export function isChatFormat(proof: string): proof is ChatFormat {
  return Object.hasOwn(chatBodies, proof);
}

const maxLogLength = 2500;
const lengthOf = (line: string) => line.length;
const bytesOf = (line: string) => Buffer.byteLength(line);

/** Elements of a rich_text block are literal: mentions and links are elements of other types. */
function slack({ title, facts, link, logLines }: ChatMessage): object {
  const text = (text: string, style?: object) => ({ type: "text", text, ...(style ? { style } : {}) });
  const section = (elements: object[]) => ({ type: "rich_text_section", elements });
  const log = lastThatFit(logLines, maxLogLength, lengthOf);
  return {
    // For notifications, and for services that accept the same body without blocks.
    text: `${title}: ${facts.map(({ text }) => codeSpan(slackText(text))).join(" ")} <${link}|Open>`,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      {
        type: "rich_text",
        elements: [
          section([text(title, { bold: true }), text(" "), { type: "link", url: link, text: "Open" }]),
          {
            type: "rich_text_list",
            style: "bullet",
            elements: facts.map((fact) =>
              section([text(`${fact.label}: `, { bold: true }), text(fact.text)]),
            ),
          },
          ...(log.length > 0 ? [{ type: "rich_text_preformatted", elements: [text(log.join("\n"))] }] : []),
        ],
      },
    ],
  };
}

function slackText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const discordColors = { good: 0x2da44e, bad: 0xcf222e, neutral: 0x57606a } as const;

function discord({ title, tone, facts, link, logLines }: ChatMessage): object {
  const log = lastThatFit(logLines, maxLogLength, lengthOf);
  return {
    embeds: [
      {
        title,
        url: link,
        color: discordColors[tone],
        fields: facts.map(({ label, text }) => ({
          name: label,
          value: codeSpan(text),
          inline: text.length <= 40,
        })),
        ...(log.length > 0 ? { description: codeBlock(log) } : {}),
      },
    ],
    allowed_mentions: { parse: [] },
  };
}

function dingtalk({ title, facts, link, logLines }: ChatMessage): object {
  const log = lastThatFit(logLines.map(withoutMarkdown), 3 * maxLogLength, bytesOf);
  const lines = [
    `### ${title}`,
    ...facts.map(({ label, text }) => `- **${label}**: ${withoutMarkdown(text)}`),
    ...(log.length > 0 ? ["", ...log.map((line) => `> ${line}\n>`)] : []),
    "",
    `[Open](${link})`,
  ];
  return {
    msgtype: "markdown",
    markdown: { title, text: lines.join("\n") },
    at: { atMobiles: [], atUserIds: [], isAtAll: false },
  };
}

const wecomMaxBytes = 4096;

function wecom({ title, facts, link, logLines }: ChatMessage): object {
  const head = [
    `### ${title}`,
    ...facts.map(({ label, text }) => `**${label}**: ${withoutMarkdown(text)}`),
    `[Open](${link})`,
  ].join("\n");
  const quoted = logLines.map((line) => `> ${withoutMarkdown(line)}`);
  const log = lastThatFit(quoted, wecomMaxBytes - bytesOf(head) - 1, bytesOf);
  return { msgtype: "markdown", markdown: { content: [head, ...log].join("\n") } };
}

const feishuTemplates = { good: "green", bad: "red", neutral: "blue" } as const;

/** Elements with the tag plain_text have no markup; mentions exist only in other tags. */
function feishu({ title, tone, facts, link, logLines }: ChatMessage): object {
  const plainText = (content: string) => ({ tag: "plain_text", content: content.replaceAll("<", "＜") });
  const log = lastThatFit(logLines, maxLogLength, lengthOf);
  return {
    msg_type: "interactive",
    card: {
      config: { wide_screen_mode: true },
      header: { title: plainText(title), template: feishuTemplates[tone] },
      elements: [
        {
          tag: "div",
          fields: facts.map(({ label, text }) => ({
            is_short: text.length <= 40,
            text: plainText(`${label}: ${text}`),
          })),
        },
        ...(log.length > 0 ? [{ tag: "div", text: plainText(log.join("\n")) }] : []),
        {
          tag: "action",
          actions: [{ tag: "button", text: plainText("Open"), type: "default", url: link }],
        },
      ],
    },
  };
}

/** Text inside code and pre has no other entity: no mention, no link, no hashtag. */
function telegram({ title, facts, link, logLines }: ChatMessage): object {
  const log = lastThatFit(logLines, maxLogLength, lengthOf);
  const lines = [
    `<b>${html(title)}</b>`,
    ...facts.map(({ label, text }) => `${html(label)}: <code>${html(text)}</code>`),
    ...(log.length > 0 ? [`<pre>${html(log.join("\n"))}</pre>`] : []),
    `<a href="${html(link)}">Open</a>`,
  ];
  return { text: lines.join("\n"), parse_mode: "HTML", link_preview_options: { is_disabled: true } };
}
