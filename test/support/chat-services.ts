import { createHmac } from "node:crypto";
import { eventually } from "./eventually.ts";

type Json = Record<string, unknown>;

/** One message that a service took. */
interface Taken {
  body: Json;
  /** Text that the service shows as it is, without markup, mention or link. */
  literal: string;
  /** Addresses that are shown as links. */
  links: string[];
}

interface Service {
  /** Path and query of the address that the service gives to its user. */
  address: string;
  secret?: string;
  /** Checks a request by the published rules and reads it as the service's clients show it. Throws what is wrong. */
  read(url: URL, body: Json): Taken;
  taken(): Response;
  refused(problem: string): Response;
}

const maxAgeMs = 3_600_000;

function must(isTrue: boolean, problem: string): asserts isTrue {
  if (!isTrue) throw new Error(problem);
}

const object = (value: unknown): Json => {
  must(typeof value === "object" && value !== null && !Array.isArray(value), `${String(value)} is no object`);
  return value as Json;
};
const list = (value: unknown): Json[] => {
  must(Array.isArray(value), `${String(value)} is no list`);
  return value.map(object);
};
const string = (value: unknown): string => {
  must(typeof value === "string" && value !== "", `${String(value)} is no text`);
  return value;
};

/**
 * Slack, docs.slack.dev: a webhook takes `text` and `blocks` and answers "ok", or an HTTP error with a code word. In `text`, &, <
 * and > must be written as entities unless they begin a control sequence such as <!channel>, <@U1> or <url|label>. In a
 * rich_text block a text element is literal; links and mentions are elements of other types.
 */
const slack: Service = {
  address: "/slack/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
  read(_url, body) {
    const text = string(body.text);
    must([...text.matchAll(/<[^>]*>/g)].length === 1, `control sequences in ${text}`);
    must(/<http[^|>]*\|Open>$/.test(text), `no link in ${text}`);
    const links: string[] = [];
    const literal: string[] = [];
    const inline = (element: Json) => {
      if (element.type === "link") links.push(string(element.url));
      else {
        must(element.type === "text", `element ${String(element.type)}`);
        literal.push(string(element.text));
      }
    };
    for (const block of list(body.blocks)) {
      must(block.type === "rich_text", `block ${String(block.type)}`);
      for (const part of list(block.elements)) {
        const kind = string(part.type);
        must(
          ["rich_text_section", "rich_text_list", "rich_text_preformatted"].includes(kind),
          `rich text element ${kind}`,
        );
        if (kind === "rich_text_list") {
          must(part.style === "bullet", "a list needs a style");
          for (const item of list(part.elements)) list(item.elements).forEach(inline);
        } else list(part.elements).forEach(inline);
      }
    }
    return { body, literal: literal.join("\n"), links };
  },
  taken: () => new Response("ok"),
  refused: (problem) => new Response(`invalid_blocks ${problem}`, { status: 400 }),
};

/**
 * Discord, docs.discord.com: at least one of content and embeds; embeds have a title of 256, a description of 4096, 25 fields
 * with names of 256 and values of 1024, 6000 characters in all. `allowed_mentions` with an empty `parse` suppresses all
 * mentions. Nothing is parsed between backticks.
 */
const discord: Service = {
  address: "/discord/api/webhooks/1234567890/abcdefghijklmnopqrstuvwxyz",
  read(_url, body) {
    must(JSON.stringify(body.allowed_mentions) === '{"parse":[]}', "mentions are not suppressed");
    must(body.content === undefined, "content would be parsed");
    const [embed] = list(body.embeds);
    must(embed !== undefined, "no embed");
    const title = string(embed.title);
    must(title.length <= 256 && /^[\w: ]+$/.test(title), `title ${title}`);
    must(Number.isInteger(embed.color), "the color is a number");
    const fields = list(embed.fields);
    must(fields.length <= 25, "too many fields");
    const literal: string[] = [title];
    let size = title.length;
    const code = (text: string, pattern: RegExp) => {
      const inside = pattern.exec(text)?.[1];
      must(inside !== undefined, `text outside of code: ${text}`);
      literal.push(inside);
      size += text.length;
    };
    for (const field of fields) {
      must(string(field.name).length <= 256 && string(field.value).length <= 1024, "field too long");
      code(string(field.value), /^`([^`\n]+)`$/);
    }
    if (embed.description !== undefined) {
      must(string(embed.description).length <= 4096, "description too long");
      code(string(embed.description), /^```\n([^`]*)\n```$/);
    }
    must(size <= 6000, "embed too long");
    return { body, literal: literal.join("\n"), links: [string(embed.url)] };
  },
  taken: () => new Response(null, { status: 204 }),
  refused: (problem) => Response.json({ code: 50035, message: problem }, { status: 400 }),
};

/** What Markdown of a service without an escape character shows: links in square brackets, and no other markup in values. */
function readMarkdown(text: string): { literal: string; links: string[] } {
  const links = [...text.matchAll(/\[Open\]\(([^)]*)\)/g)].map((match) => match[1] ?? "");
  const rest = text
    .replaceAll(/\[Open\]\([^)]*\)/g, "")
    .replaceAll(/^### /gm, "")
    .replaceAll(/^(- )?\*\*[A-Za-z ]+\*\*: /gm, "")
    .replaceAll(/^>\s?/gm, "");
  must(!/[*_`[\]()#<>!~|@\\]|:\/\/|\w\.\w/.test(rest), `markup in ${rest}`);
  return { literal: rest, links };
}

/**
 * DingTalk, open.dingtalk.com: the address has an access_token. A robot with a secret needs `timestamp` in milliseconds, at most
 * an hour off, and `sign`: the Base64 of the HMAC-SHA256 of "timestamp\nsecret" with the secret as key, encoded for a URL. A
 * markdown message has a title and a text; who is mentioned stands in `at`. All errors are answered with status 200.
 */
const dingtalk: Service = {
  address: "/dingtalk/robot/send?access_token=0123456789abcdef0123456789abcdef",
  secret: "SEC0123456789abcdef",
  read(url, body) {
    must(url.searchParams.get("access_token") === "0123456789abcdef0123456789abcdef", "token is not exist");
    const timestamp = url.searchParams.get("timestamp") ?? "";
    const secret = dingtalk.secret ?? "";
    const sign = createHmac("sha256", secret).update(`${timestamp}\n${secret}`).digest("base64");
    must(/^\d{13}$/.test(timestamp) && isRecent(Number(timestamp)), "invalid timestamp");
    must(url.searchParams.get("sign") === sign, "sign not match");
    must(body.msgtype === "markdown", "msgtype");
    const { title, text } = object(body.markdown);
    string(title);
    const at = object(body.at);
    must(at.isAtAll === false && list(at.atMobiles).length === 0, "somebody is mentioned");
    return { body, ...readMarkdown(string(text)) };
  },
  taken: () => Response.json({ errcode: 0, errmsg: "ok" }),
  refused: (problem) => Response.json({ errcode: 310000, errmsg: problem }),
};

/**
 * Feishu, open.feishu.cn: `sign` in the body is the Base64 of the HMAC-SHA256 of nothing, with "timestamp\nsecret" as key;
 * `timestamp` is in seconds, at most an hour off. A card has a header and elements; text with the tag plain_text has no markup.
 * The body has at most 20 KB. Errors are answered with status 200 and a code.
 */
const feishu: Service = {
  address: "/feishu/open-apis/bot/v2/hook/01234567-89ab-cdef-0123-456789abcdef",
  secret: "feishu signing secret",
  read(_url, body) {
    const timestamp = string(body.timestamp);
    const sign = createHmac("sha256", `${timestamp}\n${feishu.secret}`).update("").digest("base64");
    must(
      /^\d{10}$/.test(timestamp) && isRecent(Number(timestamp) * 1000),
      "timestamp is not within one hour",
    );
    must(body.sign === sign, "sign match fail or timestamp is not within one hour from current time");
    must(JSON.stringify(body).length <= 20_000, "too large");
    must(body.msg_type === "interactive", "msg_type");
    const card = object(body.card);
    const header = object(card.header);
    must(["green", "red", "blue"].includes(string(header.template)), "template");
    const literal: string[] = [];
    const links: string[] = [];
    const plain = (value: unknown) => {
      const text = object(value);
      must(text.tag === "plain_text", `tag ${String(text.tag)}`);
      literal.push(string(text.content));
    };
    plain(header.title);
    for (const element of list(card.elements)) {
      must(["div", "action"].includes(string(element.tag)), `element ${String(element.tag)}`);
      if (element.text !== undefined) plain(element.text);
      for (const field of list(element.fields ?? [])) {
        must(typeof field.is_short === "boolean", "is_short");
        plain(field.text);
      }
      for (const action of list(element.actions ?? [])) {
        must(action.tag === "button", "action");
        plain(action.text);
        links.push(string(action.url));
      }
    }
    return { body, literal: literal.join("\n"), links };
  },
  taken: () => Response.json({ code: 0, msg: "success", data: {} }),
  refused: (problem) => Response.json({ code: 19021, msg: problem, data: {} }),
};

/**
 * WeCom, developer.work.weixin.qq.com: the key in the address is the only proof. A markdown message has at most 4096 bytes of
 * UTF-8; <@userid> in it mentions a member. Errors are answered with status 200 and an errcode.
 */
const wecom: Service = {
  address: "/wecom/cgi-bin/webhook/send?key=693a91f6-7aoc-4bc4-97a0-0ec2sifa5aaa",
  read(url, body) {
    must(url.searchParams.get("key") === "693a91f6-7aoc-4bc4-97a0-0ec2sifa5aaa", "invalid webhook url");
    must(body.msgtype === "markdown", "msgtype");
    const content = string(object(body.markdown).content);
    must(Buffer.byteLength(content) <= 4096, "markdown.content exceed max length 4096");
    return { body, ...readMarkdown(content) };
  },
  taken: () => Response.json({ errcode: 0, errmsg: "ok" }),
  refused: (problem) => Response.json({ errcode: 40058, errmsg: problem }),
};

/**
 * Telegram, core.telegram.org/bots/api: sendMessage takes chat_id and a text of 1 to 4096 characters after parsing. With
 * parse_mode HTML the tags b, code, pre and a are known, and <, > and & elsewhere are entities. A code or pre entity contains no
 * other entity, so that mentions and links in it are not recognised; outside of them they are.
 */
const telegram: Service = {
  address: "/telegram/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/sendMessage?chat_id=-1001234567890",
  read(url, body) {
    must(url.search === "", "parameters in two places");
    must(body.chat_id === "-1001234567890", "Bad Request: chat not found");
    must(body.parse_mode === "HTML", "parse_mode");
    must(object(body.link_preview_options).is_disabled === true, "previews");
    const literal: string[] = [];
    const links: string[] = [];
    const outside = string(body.text)
      .replaceAll(/<(code|pre)>([^<>]*)<\/\1>/g, (_all, _tag, inside: string) => {
        literal.push(decoded(inside));
        return "";
      })
      .replaceAll(/<a href="([^"<>]*)">Open<\/a>/g, (_all, href: string) => {
        links.push(decoded(href));
        return "";
      })
      .replaceAll(/<b>([^<>]*)<\/b>/g, "$1");
    must(!/[<>&@]|:\/\/|\w\.\w/.test(outside), `Bad Request: can't parse entities in ${outside}`);
    const whole = `${outside}${literal.join("")}`;
    must(whole.length <= 4096, "Bad Request: message is too long");
    return { body, literal: [outside, ...literal].join("\n"), links };
  },
  taken: () => Response.json({ ok: true, result: { message_id: 1 } }),
  refused: (problem) => Response.json({ ok: false, error_code: 400, description: problem }, { status: 400 }),
};

export const chatServices = { slack, discord, dingtalk, feishu, wecom, telegram };
export type ChatServiceName = keyof typeof chatServices;

function isRecent(timeMs: number): boolean {
  return Math.abs(Date.now() - timeMs) < maxAgeMs;
}

function decoded(text: string): string {
  must(!/&(?!amp;|lt;|gt;|quot;)/.test(text), `an entity is unknown in ${text}`);
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}

/** Six chat services on this machine, which take a message only if it follows their published rules. */
export function startChatServices() {
  const taken: Record<ChatServiceName, Taken[]> = {
    slack: [],
    discord: [],
    dingtalk: [],
    feishu: [],
    wecom: [],
    telegram: [],
  };
  const problems: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const url = new URL(request.url);
      const name = url.pathname.split("/")[1] as ChatServiceName;
      const service: Service = chatServices[name];
      const expected = new URL(service.address, url).pathname;
      if (url.pathname !== expected) return new Response("no_service", { status: 404 });
      try {
        must(request.method === "POST", "POST only");
        must(request.headers.get("content-type") === "application/json", "content-type");
        taken[name].push(service.read(url, object(await request.json())));
        return service.taken();
      } catch (error) {
        problems.push(`${name}: ${String(error)}`);
        return service.refused(String(error));
      }
    },
  });
  return {
    taken,
    /** Why messages were refused. */
    problems,
    addressOf: (name: ChatServiceName) => `${server.url.origin}${chatServices[name].address}`,
    async message(name: ChatServiceName, text: string): Promise<Taken> {
      const find = () => taken[name].find(({ literal }) => literal.includes(text));
      await eventually(
        `${name} took a message with "${text}" (${problems.join("; ")})`,
        () => find() !== undefined,
      );
      return find() as Taken;
    },
    stop: () => server.stop(true),
  };
}
