import { expect, test } from "bun:test";
import { activityAddress } from "../../console/activity-filters.ts";
import { idOf } from "../../console/address.ts";
import { movedTo } from "../../console/project-tabs.ts";
import { pushHref, pushTabAt } from "../../console/push-tabs.ts";

test("an id is a number that the API accepts", () => {
  expect(["1", "42", "9007199254740991"].map(idOf)).toEqual([1, 42, 9_007_199_254_740_991]);
  const noIds = ["abc", "", "0", "-1", "1.5", "1e3", "0x1", "NaN", "01", " ", "1\0"];
  for (const text of [...noIds, "9007199254740992", "99999999999999999999"])
    expect([text, idOf(text)]).toEqual([text, null]);
});

test("earlier addresses of a project lead to where its parts are now", () => {
  for (const [before, now] of [
    ["webhook", "settings/rules"],
    ["settings/general", "settings/source"],
    ["settings/stages", "settings/pipeline"],
    ["settings/execution", "settings/pipeline#execution"],
    ["settings/members", "settings/access"],
    ["settings/commit-status", "settings/notifications#commit-status"],
    ["settings/delete", "settings/source#delete"],
    ["nonsense", null],
    ["constructor", null],
  ] as const)
    expect([before, movedTo(before)]).toEqual([before, now]);
});

test("earlier addresses of the push pages lead to the tabs of now, with what was asked for", () => {
  for (const [before, now] of [
    ["connect", "/push/playground?user=42"],
    ["publish", "/push/playground?user=42"],
    ["trace", "/push/find?user=42"],
    ["unknown", null],
    ["constructor", null],
  ] as const) {
    const found = pushTabAt(before);
    expect([before, found?.moved === true ? pushHref(found.tab, "user=42") : null]).toEqual([before, now]);
  }
  expect(pushTabAt("find")).toEqual({ tab: "find", moved: false });
});

test("addresses of the former lists lead to the activity with their filters", () => {
  for (const [list, projectId, search, now] of [
    ["tasks", null, "", "/activity"],
    [
      ...(["tasks", null, "state=failed&projectId=7&ref=refs%2Fheads%2Fmain&page=3"] as const),
      "/activity?outcome=failed&projectId=7&search=main",
    ],
    ["tasks", null, "trigger=manual&author=ann", "/activity?trigger=manual&author=ann"],
    ["deliveries", null, "status=ignored&page=2", "/activity?outcome=ignored"],
    ["deliveries", null, "search=late-idea", "/activity?search=late-idea&show=all"],
    ["deliveries", null, "delivery=1", "/deliveries/1"],
    ["tasks", "7", "", "/projects/7/activity"],
    ["tasks", "7", "state=failed", "/projects/7/activity?outcome=failed"],
    ["deliveries", "7", "", "/projects/7/activity"],
    ["deliveries", "7", "status=rejected", "/projects/7/activity?outcome=rejected"],
  ] as const)
    expect([search, activityAddress(list, projectId, search)]).toEqual([search, now]);
});
