import { describe, expect, test } from "bun:test";
import {
  completePipeline,
  type PipelineBody,
  pipelineBody,
  pipelineFaults,
} from "../../src/model/pipeline.ts";
import { routeUrl } from "../../src/model/service/route.ts";
import { renderReason } from "../../src/reason/reason.ts";
import { reasonOfRule } from "../../src/reason/rule-text.ts";

type Sent = Record<string, unknown>;

const withRoutes = (routes: Sent[], service: Sent = {}): Sent => ({
  start: { web: { command: "node a.js", routes, ...service } },
});

/** Path and text of each fault, of the fields and of the whole. */
function faultsOf(sent: Sent): string[] {
  const parsed = pipelineBody.safeParse(sent);
  if (!parsed.success)
    return parsed.error.issues.map(
      ({ path, message }) => `${path.join(".")} ${renderReason(reasonOfRule(message))}`,
    );
  return pipelineFaults(completePipeline(parsed.data)).map(
    ({ path, message }) => `${path.join(".")} ${renderReason(message)}`,
  );
}

const isRefused = (route: Sent) =>
  expect(
    faultsOf(withRoutes([{ domains: ["shop.example.com"], ...route }])),
    JSON.stringify(route),
  ).not.toEqual([]);
const isAccepted = (route: Sent) =>
  expect(faultsOf(withRoutes([{ domains: ["shop.example.com"], ...route }])), JSON.stringify(route)).toEqual(
    [],
  );

describe("a route", () => {
  test("has defaults", () => {
    const { start } = completePipeline(withRoutes([{ domains: ["shop.example.com"] }]) as PipelineBody);
    expect((start as Record<string, { routes: object[] }>).web?.routes).toEqual([
      { domains: ["shop.example.com"], path: "/", tls: "auto", redirect: true, headers: {}, maintenance: "" },
    ]);
  });

  test("has no other fields, modes and header names than those that are known", () => {
    const hostile = [
      "",
      "{file./etc/shadow}",
      "auto\n",
      "a\r\nb",
      "\u202eauto",
      "x".repeat(100_000),
      null,
      1,
      {},
    ];
    for (const value of hostile) {
      isRefused({ tls: value });
      isRefused({ redirect: value });
      isRefused({ headers: { [String(value)]: "a" } });
      isRefused({ [`x${String(value)}`]: "a" });
      isRefused({ domains: value });
      isRefused({ headers: value === null || typeof value === "object" ? [value] : value });
    }
  });

  test("has domains of a strict form", () => {
    for (const domain of ["a.b", "shop.example.com", "xn--bcher-kva.example", "1.example.com", "a-b.c-d.e"])
      isAccepted({ domains: [domain] });
    for (const domain of ["*.example.com", "localhost"]) {
      isRefused({ domains: [domain] });
      isAccepted({ domains: [domain], tls: "internal" });
      isAccepted({ domains: [domain], tls: "off" });
    }
    const hostile = [
      ...["", " ", ".", "a.", ".a", "a..b", "-a.b", "a-.b", "Shop.example.com", "bücher.example", "a_b.c"],
      ...[
        "{file./etc/shadow}",
        "a.b{",
        "a.b}",
        "a.b\n",
        "a.b\r\nx",
        "a.b:80",
        "https://a.b",
        "a.b/c",
        "a b.c",
      ],
      ...[
        "*.*.a.b",
        "a.*.b",
        "*",
        "*.",
        "**.a.b",
        "127.0.0.1",
        "1.2.3.4",
        "[::1]",
        "a.b\0",
        "a.b\u2028",
        "\u202ea.b",
      ],
      ...[`${"a".repeat(64)}.b`, `${"a.".repeat(127)}b`, 'a.b"', "a.b;", "a.b`", "$PORT.b", "a.1"],
    ];
    for (const domain of hostile) for (const tls of ["auto", "off"]) isRefused({ domains: [domain], tls });
    isRefused({ domains: [] });
    isRefused({ domains: Array.from({ length: 21 }, (_, index) => `a${index}.b`) });
  });

  test("has a path of a strict form", () => {
    for (const path of ["/", "/api", "/api/v1.0", "/a~b_c-d"]) isAccepted({ path });
    const hostile = [
      ...[
        "",
        "api",
        "/api/",
        "//",
        "/a//b",
        "/..",
        "/a/../b",
        "/.",
        "/a/./b",
        "/a b",
        "/a?b",
        "/a#b",
        "/a%2e",
        "/*",
      ],
      ...["/{path}", "/a\n", "/ä", "/a\\b", "/a;b", '/a"', `/${"a".repeat(200)}`],
    ];
    for (const path of hostile) isRefused({ path });
  });

  test("has headers of a fixed list, without braces", () => {
    isAccepted({
      headers: { "content-security-policy": "default-src 'self'; img-src *|~", "x-robots-tag": "none" },
    });
    for (const value of ["", "{env.HOME}", "a}", "a\nb", "a\r\nset-cookie: x", "ä", "a\0", "a".repeat(2001)])
      isRefused({ headers: { "cache-control": value } });
    expect(faultsOf(withRoutes([{ domains: ["a.b"], headers: { "X-Frame-Options": "DENY" } }]))).toEqual([
      expect.stringContaining("x-frame-options"),
    ]);
    isRefused({ headers: { "set-cookie": "a=b" } });
  });

  test("has any text as its maintenance page, up to a size", () => {
    isAccepted({ maintenance: "<h1>{file./etc/shadow}</h1>\n\u202e" });
    for (const maintenance of ["a\0", "\ud800", "a".repeat(65_537)]) isRefused({ maintenance });
  });

  test("needs a port, and a place of its own with one kind of certificate", () => {
    const route = { domains: ["a.b"] };
    expect(faultsOf(withRoutes([route], { port: "none" }))).toEqual([
      "start.web.routes need a port: set port to $PORT or to a number",
    ]);
    expect(faultsOf(withRoutes([route, { domains: ["c.d", "a.b"] }]))).toEqual([
      "start.web.routes.1.domains.1 is repeated: the project has another route for a.b",
    ]);
    expect(faultsOf(withRoutes([{ domains: ["a.b", "a.b"], path: "/x" }]))).toEqual([
      "start.web.routes.0.domains.1 is repeated: the project has another route for a.b/x",
    ]);
    expect(faultsOf(withRoutes([route, { domains: ["a.b"], path: "/api", tls: "off" }]))).toEqual([
      "start.web.routes.1.domains.0 must have tls auto, as another route of a.b",
    ]);
    const services = { web: { command: "a", routes: [route] }, api: { command: "b", routes: [route] } };
    expect(faultsOf({ start: services })).toEqual([
      "start.api.routes.0.domains.0 is repeated: the project has another route for a.b",
    ]);
    expect(faultsOf(withRoutes([route, { ...route, path: "/api" }], { port: 8080 }))).toEqual([]);
  });

  test("has a URL", () => {
    expect(routeUrl({ tls: "auto" }, { domain: "a.b", path: "/" })).toBe("https://a.b/");
    expect(routeUrl({ tls: "off" }, { domain: "*.a.b", path: "/api" })).toBe("http://a.b/api");
  });
});

test("only a step of deploy holds requests, in a project with routes", () => {
  const deploy = [{ script: "migrate", pause: true }];
  expect(faultsOf({ deploy })).toEqual([
    "deploy.0.pause needs a service with routes: without a proxy nothing can hold requests",
  ]);
  expect(faultsOf({ deploy, ...withRoutes([{ domains: ["a.b"] }]) })).toEqual([]);
  expect(faultsOf({ build: deploy })).toEqual([expect.stringContaining("build.0.pause")]);
});
