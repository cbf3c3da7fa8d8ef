import { describe, expect, test } from "bun:test";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const later = new Date(sampleTime.getTime() + 60_000);

describe.each(await availableDatabases())("accounts at providers on $name", async ({ make }) => {
  const { store } = await setUpStore(make);

  const addUser = (username: string) =>
    store.users.create({ username, passwordHash: "", role: "user", createdAt: sampleTime });

  const sessionOf = (userId: number, tokenHash: string) => ({
    ...{ userId, tokenHash, userAgent: "Firefox", remoteIp: "192.0.2.1" },
    ...{ createdAt: sampleTime, lastSeenAt: sampleTime, expiresAt: later },
  });

  const identityOf = (userId: number, subject: string) => ({
    ...{ userId, issuer: "https://git.example.com", subject, provider: "git", host: "git.example.com" },
    ...{ login: `login of ${subject}`, createdAt: sampleTime, lastUsedAt: sampleTime },
  });

  test("an account at a provider is linked to one user, by its subject", async () => {
    const [user, other] = [await addUser("gil"), await addUser("hal")];
    const identity = await store.identities.create(identityOf(user.id, "7"));
    expect(await store.identities.bySubject("https://git.example.com", "7")).toEqual(identity);
    expect(await store.identities.bySubject("https://other.example.com", "7")).toBeNull();
    expect(await failureOf(store.identities.create(identityOf(other.id, "7")))).toMatchObject({
      code: "conflict",
      message: "The account login of 7 is already linked to another user.",
    });
    const used = { provider: "renamed", login: "gil-2", lastUsedAt: later };
    expect(await store.identities.update(identity.id, used)).toEqual({ ...identity, ...used });
    expect(await store.identities.ofUser(user.id)).toEqual([{ ...identity, ...used }]);
    expect(await store.identities.atHost("git.example.com")).toEqual([{ ...identity, ...used }]);
  });

  test("what a user was called at a host stays known when the account is renamed or unlinked", async () => {
    const user = await addUser("kim");
    const former = async () =>
      (await store.identities.formerAtHost("git.example.com"))
        .filter(({ userId }) => userId === user.id)
        .map(({ login }) => login);
    const [one, two, three] = [
      await store.identities.create(identityOf(user.id, "kim-1")),
      await store.identities.create(identityOf(user.id, "kim-2")),
      await store.identities.create(identityOf(user.id, "kim-3")),
    ];
    const used = { provider: "git", login: "kim", lastUsedAt: later };
    await store.identities.update(one.id, used);
    await store.identities.update(one.id, used);
    expect(await former()).toEqual([one.login]);
    await store.identities.delete(two.id);
    expect(await former()).toEqual([one.login, two.login]);
    expect(await store.identities.deleteOfUser(user.id, three.id)).toBe(1);
    expect(await former()).toEqual(["kim", one.login, two.login]);
    expect(await store.identities.deleteOfUser(user.id, null)).toBe(1);
    expect(await former()).toEqual(["kim", one.login, two.login, three.login]);
  });

  test("sessions of an account at a provider end with it, with its user, and when the provider says so", async () => {
    const user = await addUser("ivy");
    const first = await store.identities.create(identityOf(user.id, "ivy-1"));
    const second = await store.identities.create(identityOf(user.id, "ivy-2"));
    const open = (tokenHash: string, identityId: number, providerSession: string | null = null) =>
      store.sessions.create({ ...sessionOf(user.id, tokenHash), identityId, providerSession });
    await open("ivy-a", first.id, "x");
    await open("ivy-b", first.id, "y");
    await open("ivy-c", second.id, "x");
    await store.sessions.create(sessionOf(user.id, "ivy-d"));
    const left = async () =>
      (await store.sessions.listOfUser(user.id)).map(({ tokenHash }) => tokenHash).sort();
    const { issuer } = first;
    const none = { issuer: "https://other.example.com", subject: null, providerSession: "x" };
    expect(await store.sessions.deleteAtProvider(none)).toEqual([]);
    const one = { issuer, subject: "ivy-1", providerSession: "x" };
    expect(await store.sessions.deleteAtProvider(one)).toEqual([user.id]);
    expect(await left()).toEqual(["ivy-b", "ivy-c", "ivy-d"]);
    const all = { issuer, subject: "ivy-1", providerSession: null };
    expect(await store.sessions.deleteAtProvider(all)).toEqual([user.id]);
    expect(await store.identities.delete(second.id)).toBe(true);
    expect(await left()).toEqual(["ivy-d"]);
    await open("ivy-e", first.id);
    await store.users.delete(user.id);
    expect([await left(), await store.identities.byId(first.id)]).toEqual([[], null]);
  });

  test("of two that ask for due sessions at once, one gets each", async () => {
    const user = await addUser("joe");
    const { id: identityId } = await store.identities.create(identityOf(user.id, "joe-1"));
    for (const name of ["joe-a", "joe-b", "joe-c"])
      await store.sessions.create({ ...sessionOf(user.id, name), identityId, refreshAt: sampleTime });
    const again = { ...sessionOf(user.id, "joe-d"), identityId, refreshAt: later, providerGrant: "g" };
    const notDue = await store.sessions.create(again);
    const taken = await Promise.all([1, 2, 3].map(() => store.sessions.takeDue(sampleTime, later, 2)));
    const names = taken.flat().map(({ tokenHash, refreshAt }) => [tokenHash, refreshAt]);
    expect(new Map(names as [string, Date][]).size).toBe(names.length);
    const rest = await store.sessions.takeDue(sampleTime, later, 10);
    expect([...taken.flat(), ...rest].map(({ tokenHash }) => tokenHash).sort()).toEqual([
      "joe-a",
      "joe-b",
      "joe-c",
    ]);
    expect(await store.sessions.setGrant(notDue.id, { providerGrant: "h" })).toBe(true);
    expect(await store.sessions.withGrant()).toEqual([{ ...notDue, providerGrant: "h" }]);
    expect(await store.sessions.setGrant(0, { providerGrant: "h" })).toBe(false);
  });
});
