import { describe, expect, test } from "bun:test";
import { buildSignIn } from "../../src/account/sign-in.ts";
import { manualClock } from "../../src/clock.ts";
import { buildMetrics } from "../../src/metrics.ts";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { sampleAuditEntry, sampleProject, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const later = new Date(sampleTime.getTime() + 60_000);
const firstPage = { page: 1, pageSize: 20 };

describe.each(await availableDatabases())("accounts on $name", async ({ make }) => {
  const { store } = await setUpStore(make);

  const addUser = (username: string, role: "admin" | "user" = "user") =>
    store.users.create({ username, passwordHash: `hash of ${username}`, role, createdAt: sampleTime });

  test("a user is found by id and by name in any case, and only there with its password hash", async () => {
    const ann = await addUser("Ann");
    expect(await store.users.byId(ann.id)).toEqual({
      id: ann.id,
      username: "Ann",
      role: "user",
      disabled: false,
      language: null,
      createdAt: sampleTime,
    });
    expect(await store.users.byUsername("ann")).toEqual({ ...ann, passwordHash: "hash of Ann" });
    expect(await store.users.byUsername("nobody")).toBeNull();
  });

  test("a second user of the same name is a conflict that names it", async () => {
    await addUser("bob");
    expect(await failureOf(addUser("BOB"))).toMatchObject({
      code: "conflict",
      message: "A user named BOB already exists.",
      fields: [{ field: "username", message: { code: "taken", values: {} } }],
    });
  });

  test("a user is changed and deleted, with sessions, tokens and permissions", async () => {
    const user = await addUser("carol", "admin");
    expect(await store.users.countAdmins()).toBe(1);
    expect(await store.users.update(user.id, { disabled: true })).toEqual({ ...user, disabled: true });
    expect(await store.users.countAdmins()).toBe(0);
    expect(await store.users.update(user.id, {})).toMatchObject({ disabled: true });
    const project = await store.projects.create(sampleProject());
    await store.permissions.setMember({ noun: "project", id: project.id }, user.id, "view");
    const session = await store.sessions.create(sessionOf(user.id, "carol-1"));
    const token = await store.apiTokens.create(tokenOf(user.id, "carol-token"));
    expect(await store.users.delete(user.id)).toBe(true);
    expect(await store.users.delete(user.id)).toBe(false);
    expect(await store.users.update(user.id, { disabled: false })).toBeNull();
    expect(await store.sessions.byTokenHash(session.tokenHash)).toBeNull();
    expect(await store.apiTokens.byId(token.id)).toBeNull();
    expect(await store.permissions.members({ noun: "project", id: project.id })).toEqual([]);
  });

  test("lists are paged, and the total is that of the whole list", async () => {
    for (const name of ["list-1", "list-2", "list-3"]) await addUser(name);
    const all = await store.users.list({ page: 1, pageSize: 200 });
    expect(all.total).toBe(all.items.length);
    expect(await store.users.count()).toBe(all.total);
    const second = await store.users.list({ page: 2, pageSize: 2 });
    expect(second).toEqual({ items: all.items.slice(2, 4), total: all.total, page: 2, pageSize: 2 });
  });

  const sessionOf = (userId: number, tokenHash: string, expiresAt = later) => ({
    userId,
    tokenHash,
    userAgent: "Firefox",
    remoteIp: "192.0.2.1",
    createdAt: sampleTime,
    lastSeenAt: sampleTime,
    expiresAt,
  });

  test("sessions are found by token hash, touched, and deleted one, by user, or by age", async () => {
    const user = await addUser("dora");
    const first = await store.sessions.create(sessionOf(user.id, "dora-1"));
    const second = await store.sessions.create(sessionOf(user.id, "dora-2"));
    const old = await store.sessions.create(sessionOf(user.id, "dora-3", sampleTime));
    expect(await store.sessions.byTokenHash("dora-1")).toEqual(first);
    await store.sessions.touch(first.id, later);
    expect((await store.sessions.listOfUser(user.id)).map((session) => session.id)).toEqual([
      first.id,
      old.id,
      second.id,
    ]);
    expect(await store.sessions.deleteExpired(sampleTime)).toBe(1);
    expect(await store.sessions.deleteOfUser(user.id, first.id)).toBe(1);
    expect(await store.sessions.delete(first.id)).toBe(true);
    expect(await store.sessions.listOfUser(user.id)).toEqual([]);
  });

  const tokenOf = (userId: number, tokenHash: string) => ({
    userId,
    name: "ci",
    tokenHash,
    hint: "slp_ab",
    scopes: ["read" as const, "publish" as const],
    createdAt: sampleTime,
    expiresAt: null,
  });

  test("API tokens keep their scopes and their last use", async () => {
    const user = await addUser("emil");
    const token = await store.apiTokens.create(tokenOf(user.id, "emil-1"));
    await store.apiTokens.touch(token.id, later);
    expect(await store.apiTokens.byTokenHash("emil-1")).toEqual({ ...token, lastUsedAt: later });
    expect((await store.apiTokens.list({ userId: user.id }, firstPage)).items).toHaveLength(1);
    expect(await store.apiTokens.delete(token.id)).toBe(true);
    expect(await store.apiTokens.byId(token.id)).toBeNull();
  });

  test("the stronger of a project's own permission and its group's counts", async () => {
    const user = await addUser("fay");
    const group = await store.groups.create({ name: "backend", createdAt: sampleTime });
    const inGroup = await store.projects.create(sampleProject({ groupId: group.id }));
    const alone = await store.projects.create(sampleProject());
    const foreign = await store.projects.create(sampleProject());
    await store.permissions.setMember({ noun: "group", id: group.id }, user.id, "view");
    await store.permissions.setMember({ noun: "project", id: alone.id }, user.id, "view");
    expect(await store.permissions.ofProject(user.id, inGroup.id)).toBe("view");
    await store.permissions.setMember({ noun: "project", id: inGroup.id }, user.id, "manage");
    expect(await store.permissions.ofProject(user.id, inGroup.id)).toBe("manage");
    expect(await store.permissions.ofProject(user.id, foreign.id)).toBeNull();
    expect(await store.permissions.ofGroup(user.id, group.id)).toBe("view");
    expect(await store.permissions.visibleProjectIds(user.id)).toEqual([inGroup.id, alone.id]);
    expect(await store.permissions.visibleGroupIds(user.id)).toEqual([group.id]);
    expect(await store.permissions.managedProjectIds(user.id)).toEqual([inGroup.id]);
    expect(await store.permissions.managedGroupIds(user.id)).toEqual([]);
    expect(await store.permissions.viewersOfProject(inGroup.id)).toEqual([user.id]);
    expect(await store.permissions.members({ noun: "group", id: group.id })).toEqual([
      { userId: user.id, username: "fay", permission: "view" },
    ]);
    const reasons = { isAdmin: false, isDisabled: false };
    expect(await store.permissions.accessTo(inGroup.id)).toContainEqual({
      ...{ userId: user.id, username: "fay", permission: "manage", ...reasons },
      ...{ asMember: "manage", throughGroup: "view" },
    });
    expect(await store.permissions.accessTo(alone.id)).toContainEqual({
      ...{ userId: user.id, username: "fay", permission: "view", ...reasons },
      ...{ asMember: "view", throughGroup: null },
    });
    expect(await store.permissions.accessTo(foreign.id)).not.toContainEqual(
      expect.objectContaining({ userId: user.id }),
    );
    expect(await store.permissions.removeMember({ noun: "project", id: inGroup.id }, user.id)).toBe(true);
    expect(await store.permissions.ofProject(user.id, inGroup.id)).toBe("view");
    expect(await store.permissions.removeMember({ noun: "group", id: group.id }, user.id)).toBe(true);
    expect(await store.permissions.visibleProjectIds(user.id)).toEqual([alone.id]);
  });

  test("a group that is deleted leaves its projects without a group", async () => {
    const group = await store.groups.create({ name: "short-lived", createdAt: sampleTime });
    const project = await store.projects.create(sampleProject({ groupId: group.id }));
    expect(await store.groups.update(group.id, { name: "renamed" })).toMatchObject({ name: "renamed" });
    expect((await store.groups.list({ ids: [group.id] }, firstPage)).items).toHaveLength(1);
    expect(await store.groups.delete(group.id)).toBe(true);
    expect(await store.projects.byId(project.id)).toMatchObject({ groupId: null });
    expect(await store.groups.byId(group.id)).toBeNull();
  });

  test("members of unknown projects, groups and users are refused with a clear message", async () => {
    expect(
      await failureOf(store.permissions.setMember({ noun: "project", id: 999_999 }, 999_999, "view")),
    ).toMatchObject({
      code: "not_found",
    });
    expect(
      await failureOf(store.permissions.setMember({ noun: "group", id: 999_999 }, 999_999, "view")),
    ).toMatchObject({
      code: "not_found",
    });
  });

  test("a push code is valid once, and not after its expiry", async () => {
    const whose = { userId: "ann", console: true, channels: ["a-*"] };
    const code = { codeHash: "code-1", ...whose, expiresAt: later, endsAt: sampleTime };
    await store.pushCodes.create(code);
    expect(await store.pushCodes.consume("code-1", sampleTime)).toEqual(code);
    expect(await store.pushCodes.consume("code-1", sampleTime)).toBeNull();
    await store.pushCodes.create({ ...code, codeHash: "code-2", channels: null, endsAt: null });
    expect(await store.pushCodes.consume("code-2", later)).toBeNull();
    await store.pushCodes.create({ ...code, codeHash: "code-3" });
    expect(await store.pushCodes.deleteExpired(later)).toBe(1);
    await store.pushCodes.create({ ...code, codeHash: "code-4" });
    expect(await store.pushCodes.deleteOfUser("ben")).toBe(0);
    expect(await store.pushCodes.deleteOfUser("ann")).toBe(1);
    expect(await store.pushCodes.consume("code-4", sampleTime)).toBeNull();
  });

  test("a password that was verified creates no session after the user was changed, disabled or deleted", async () => {
    const meanwhile: ((id: number) => Promise<unknown>)[] = [
      (id) => store.users.update(id, { passwordHash: "another" }),
      (id) => store.users.update(id, { disabled: true }),
      (id) => store.users.delete(id),
    ];
    for (const [index, change] of meanwhile.entries()) {
      const user = await addUser(`late-${index}`);
      const signIn = buildSignIn({
        store,
        attempts: null,
        passwords: { hash: async () => "new", matches: async () => (await change(user.id)) !== null },
        clock: manualClock(),
        metrics: buildMetrics(),
        local: "everyone",
        sessionMs: 1000,
      });
      const { username } = user;
      const request = { username, password: "old", remoteIp: "", userAgent: "", limitKey: "" };
      expect(await failureOf(signIn.signIn(request))).toMatchObject({ code: "unauthenticated" });
      expect(await store.sessions.listOfUser(user.id)).toEqual([]);
    }
    const user = await addUser("late-change");
    const signIn = buildSignIn({
      store,
      attempts: null,
      passwords: {
        hash: async () => "mine",
        matches: async () => (await store.users.update(user.id, { passwordHash: "the admin's" })) !== null,
      },
      clock: manualClock(),
      metrics: buildMetrics(),
      local: "everyone",
      sessionMs: 1000,
    });
    const caller = { userId: user.id, username: "late-change", role: user.role, scopes: null, sessionId: 1 };
    const change = signIn.changePassword(
      { ...caller, expiresAt: null },
      { oldPassword: "old", newPassword: "new", keepTokens: false, limitKey: "" },
      sampleAuditEntry,
    );
    expect(await failureOf(change)).toMatchObject({ code: "invalid" });
    expect(await store.users.byUsername("late-change")).toMatchObject({ passwordHash: "the admin's" });
  });

  test("attempts are counted in windows, given back, forgotten, and deleted once their window ended", async () => {
    const count = (key: string, at = sampleTime) => store.attempts.count(key, at, 60_000);
    const together = await Promise.all([1, 2, 3, 4].map(() => count("a")));
    expect(together.map((answer) => answer.count).sort()).toEqual([1, 2, 3, 4]);
    expect(together[0]?.endsAt).toEqual(later);
    await store.attempts.giveBack("a");
    expect(await count("a", new Date(later.getTime() - 1))).toEqual({ count: 4, endsAt: later });
    expect(await count("a", later)).toMatchObject({ count: 1 });
    await store.attempts.forget("a");
    await store.attempts.giveBack("a");
    expect(await count("a")).toMatchObject({ count: 1 });
    await count("b", later);
    expect(await store.attempts.deleteEnded(later)).toBe(1);
    expect(await count("b", later)).toMatchObject({ count: 2 });
  });

  test("a push code used by two connections at once admits one", async () => {
    const code = { codeHash: "race", userId: "ann", console: false, channels: null, expiresAt: later };
    await store.pushCodes.create({ ...code, endsAt: null });
    const answers = await Promise.all([1, 2, 3, 4].map(() => store.pushCodes.consume("race", sampleTime)));
    expect(answers.filter((answer) => answer !== null)).toHaveLength(1);
  });

  test("the audit log is listed newest first, by user, project, action and time", async () => {
    const entry = {
      at: sampleTime,
      userId: 4_000,
      username: "gina",
      action: "webhook.save",
      projectId: 4_001,
      groupId: null,
      subject: "project shop",
      detail: { changed: ["secret"] },
      remoteIp: "192.0.2.1",
    };
    await store.audit.add(entry);
    await store.audit.add({ ...entry, at: later, action: "webhook.reset-key", projectId: null });
    const mine = await store.audit.list({ userId: 4_000 }, firstPage);
    expect(mine.items.map((item) => item.action)).toEqual(["webhook.reset-key", "webhook.save"]);
    expect(mine.items[1]).toEqual({ ...entry, id: expect.any(Number) });
    expect((await store.audit.list({ projectId: 4_001 }, firstPage)).total).toBe(1);
    expect((await store.audit.list({ action: "webhook.save", userId: 4_000 }, firstPage)).total).toBe(1);
    expect((await store.audit.list({ userId: 4_000, from: later }, firstPage)).total).toBe(1);
    expect((await store.audit.list({ userId: 4_000, to: later }, firstPage)).total).toBe(1);
  });

  test("changes of users in a project are found after an entry and since a time, equal ones once", async () => {
    const entry = { ...sampleAuditEntry, userId: 5_000, username: "hal", action: "project.update" };
    const change = { ...entry, projectId: 5_001, detail: { fields: ["env"] } };
    await store.audit.add(change);
    const before = await store.audit.lastId();
    await store.audit.add(change);
    await store.audit.add({ ...change, at: later });
    await store.audit.add({ ...change, at: later, detail: { fields: ["git"] } });
    // By the system, by another action, and in another project.
    await store.audit.add({ ...change, userId: null });
    await store.audit.add({ ...change, action: "task.run" });
    await store.audit.add({ ...change, projectId: 5_002 });
    expect(await store.audit.lastId()).toBe(before + 6);
    const found = (since: Parameters<typeof store.audit.changesOf>[2], groupId: number | null = null) =>
      store.audit.changesOf({ projectIds: [5_001], groupId }, ["project.update", "group.update"], since);
    const by = { userId: 5_000, username: "hal", action: "project.update" };
    expect(await found({ afterId: before })).toEqual([
      { ...by, id: before + 1, detail: { fields: ["env"] } },
      { ...by, id: before + 3, detail: { fields: ["git"] } },
    ]);
    expect((await found({ from: later })).map(({ id }) => id)).toEqual([before + 2, before + 3]);
    const ofGroup = { ...change, action: "group.update", projectId: null, at: later };
    await store.audit.add({ ...ofGroup, groupId: 5_003 });
    await store.audit.add({ ...ofGroup, groupId: 5_004 });
    expect((await found({ from: later }, 5_003)).map(({ id }) => id)).toEqual([
      ...[before + 2, before + 3, before + 7],
    ]);
  });

  test("named values of the installation are set and read", async () => {
    expect(await store.meta.get("colour")).toBeNull();
    await store.meta.set("colour", "red");
    await store.meta.set("colour", "blue");
    expect(await store.meta.get("colour")).toBe("blue");
  });
});
