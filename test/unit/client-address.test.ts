import { describe, expect, test } from "bun:test";
import { clientAddressOf, isHttps, limitKeyOf, networksOf } from "../../src/http/client-address.ts";

const proxies = networksOf(["10.0.0.0/8", "fd00::/8"]);
const forwarded = (value: string) => new Headers({ "x-forwarded-for": value });

describe("the client's address", () => {
  test("is the peer when the peer is no trusted proxy, whatever the header says", () => {
    expect(clientAddressOf(forwarded("1.2.3.4"), "203.0.113.9", proxies)).toBe("203.0.113.9");
  });

  test("is the right-most entry that is no trusted proxy", () => {
    expect(clientAddressOf(forwarded("6.6.6.6, 203.0.113.9, 10.1.1.1"), "10.0.0.1", proxies)).toBe(
      "203.0.113.9",
    );
  });

  test("is the peer when every entry is a proxy, or the header is missing or no address", () => {
    for (const headers of [
      forwarded("10.1.1.1"),
      new Headers(),
      forwarded("unknown"),
      forwarded("1.2.3.4, -"),
    ])
      expect(clientAddressOf(headers, "10.0.0.1", proxies)).toBe("10.0.0.1");
  });

  test("has no port and no brackets, and IPv4-mapped IPv6 becomes IPv4", () => {
    expect(clientAddressOf(forwarded("203.0.113.9:4711"), "::ffff:10.0.0.1", proxies)).toBe("203.0.113.9");
    expect(clientAddressOf(forwarded("[2001:db8::7]:4711"), "fd00::1", proxies)).toBe("2001:db8::7");
    expect(clientAddressOf(new Headers(), "::ffff:127.0.0.1", proxies)).toBe("127.0.0.1");
  });
});

test("https counts only from the connection itself or from a trusted proxy", () => {
  const request = (url: string, proto?: string) =>
    new Request(url, proto ? { headers: { "x-forwarded-proto": proto } } : {});
  expect(isHttps(request("https://a/"), "203.0.113.9", proxies)).toBe(true);
  expect(isHttps(request("http://a/", "https"), "203.0.113.9", proxies)).toBe(false);
  expect(isHttps(request("http://a/", "https"), "10.0.0.1", proxies)).toBe(true);
  expect(isHttps(request("http://a/", "http"), "10.0.0.1", proxies)).toBe(false);
});

test("limits count IPv4 by address and IPv6 by its /64, however it is written", () => {
  expect(limitKeyOf("203.0.113.9")).toBe("203.0.113.9");
  expect(limitKeyOf("::ffff:203.0.113.9")).toBe("203.0.113.9");
  for (const address of [
    "2001:db8:1:2::7",
    "2001:DB8:1:2:3:4:5:6",
    "2001:0db8:0001:0002::",
    "2001:db8:1:2:ffff::",
  ])
    expect(limitKeyOf(address)).toBe("2001:db8:1:2::/64");
  expect(limitKeyOf("2001:db8::1:2:3:4:5")).toBe("2001:db8:0:1::/64");
  expect(limitKeyOf("::1")).toBe("0:0:0:0::/64");
  expect(limitKeyOf("")).toBe("");
});
