import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmod, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { environmentBody } from "../../src/model/environment/environment.ts";
import { sealedPurpose } from "../../src/model/sealed.ts";
import type { Store } from "../../src/model/store.ts";
import { buildSecrets, randomToken } from "../../src/secrets.ts";
import { loadDataKey } from "../../src/store/maintenance/data-key.ts";
import { resealAll, rotateKeyFile } from "../../src/store/maintenance/key-rotation.ts";
import { makeSqlite, type TestDatabase } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { sampleProject, sampleWebhookConfig } from "../support/samples.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe("the key of stored secrets", () => {
  let database: TestDatabase;
  let store: Store;
  let dataDir: string;
  const load = (encryptionKey?: string) => loadDataKey({ dataDir, encryptionKey }, store);
  const keyFile = () => join(dataDir, "slipway.key");

  beforeEach(async () => {
    database = await makeSqlite();
    store = await database.open();
    dataDir = temporaryFolder("key");
  });
  afterEach(() => database.remove());

  test("the first start makes a key file that only its owner reads, and later ones use it", async () => {
    const first = await load();
    expect(first.file).toBe(keyFile());
    expect((await stat(keyFile())).mode & 0o777).toBe(0o600);
    const sealed = first.secrets.seal("place", "word");
    expect((await load()).secrets.open("place", sealed)).toBe("word");
  });

  test("a key given as hex or base64 is used, and no key file is made", async () => {
    const hex = randomToken(32, "hex");
    const { secrets, file } = await load(hex);
    expect(file).toBeNull();
    const base64 = Buffer.from(hex, "hex").toString("base64");
    expect((await load(base64)).secrets.open("place", secrets.seal("place", "word"))).toBe("word");
    expect(await failureOf(stat(keyFile()))).toBeInstanceOf(Error);
  });

  test("a wrong key is detected at start and named", async () => {
    await load();
    await writeFile(keyFile(), randomToken(32));
    expect(await failureOf(load())).toMatchObject({
      code: "invalid",
      message: expect.stringContaining(keyFile()),
    });
    expect(String(await failureOf(load(randomToken(32))))).toContain(
      "The key in data.encryptionKey did not encrypt",
    );
  });

  test("a key file that is gone is not replaced while the database holds secrets of it", async () => {
    await load();
    await rename(keyFile(), join(dataDir, "elsewhere"));
    expect(String(await failureOf(load()))).toContain("is gone");
    expect(await failureOf(stat(keyFile()))).toBeInstanceOf(Error);
  });

  test("a damaged key is an error, and a key that other users can read is a warning", async () => {
    await load();
    await chmod(keyFile(), 0o644);
    expect((await load()).warnings).toEqual([{ code: "system_key_file", values: { file: keyFile() } }]);
    await writeFile(keyFile(), "short");
    expect(String(await failureOf(load()))).toContain("must be 32 bytes");
  });

  const storeSecrets = async () => {
    const { secrets } = await load();
    const { id } = await store.projects.create(sampleProject());
    await store.projects.setSecret(id, "TOKEN", secrets.seal(sealedPurpose.projectSecret(id, "TOKEN"), "t"));
    const environment = environmentBody.parse({ name: "staging" });
    const { id: placeId } = await store.projects.create(sampleProject({ parentId: id, environment }));
    const ofPlace = secrets.seal(sealedPurpose.projectSecret(placeId, "TOKEN"), "p");
    await store.projects.setSecret(placeId, "TOKEN", ofPlace);
    const { id: groupId } = await store.groups.create({ name: "web", createdAt: new Date(1) });
    const ofGroup = secrets.seal(sealedPurpose.groupSecret(groupId, "SHARED"), "group");
    await store.groups.setSecret(groupId, "SHARED", ofGroup);
    await store.webhookConfigs.save(
      sampleWebhookConfig({
        projectId: id,
        secret: secrets.seal(sealedPurpose.webhookSecret(id), "w"),
        secondSecret: secrets.seal(sealedPurpose.webhookSecondSecret(id), "s"),
      }),
    );
    const { id: userId } = await store.users.create({
      ...{ username: "ann", passwordHash: "", role: "user" },
      createdAt: new Date(1),
    });
    const origin = "https://git.example.com";
    await store.hostTokens.save({
      ...{ userId, origin, kind: "gitea", hint: "h", createdAt: new Date(1) },
      ...{ login: "ann", scopes: null, expiresAt: null },
      ciphertext: secrets.seal(sealedPurpose.hostToken(userId, origin), "h"),
    });
    await store.sessions.create({
      ...{ userId, tokenHash: "s", userAgent: "", remoteIp: "" },
      ...{ createdAt: new Date(1), lastSeenAt: new Date(1), expiresAt: new Date(2) },
      providerGrant: secrets.seal(sealedPurpose.providerGrant("s"), "g"),
    });
    return id;
  };
  const openSecrets = async (id: number) => {
    const { secrets } = await load();
    const [token] = await store.projects.secrets(id);
    const groupId = (await store.groups.list({}, { page: 1, pageSize: 1 })).items[0]?.id ?? 0;
    const [shared] = await store.groups.secrets(groupId);
    const [place] = await store.projects.environmentsOf([id]);
    const [ofPlace] = await store.projects.secrets(place?.id ?? 0);
    const config = await store.webhookConfigs.ofProject(id);
    const [hostToken] = await store.hostTokens.all();
    return [
      secrets.open(sealedPurpose.projectSecret(id, "TOKEN"), token?.ciphertext ?? ""),
      secrets.open(sealedPurpose.projectSecret(place?.id ?? 0, "TOKEN"), ofPlace?.ciphertext ?? ""),
      secrets.open(sealedPurpose.groupSecret(groupId, "SHARED"), shared?.ciphertext ?? ""),
      secrets.open(sealedPurpose.webhookSecret(id), config?.secret ?? ""),
      secrets.open(sealedPurpose.webhookSecondSecret(id), config?.secondSecret ?? ""),
      secrets.open(
        sealedPurpose.hostToken(hostToken?.userId ?? 0, hostToken?.origin ?? ""),
        hostToken?.ciphertext ?? "",
      ),
      secrets.open(
        sealedPurpose.providerGrant("s"),
        (await store.sessions.byTokenHash("s"))?.providerGrant ?? "",
      ),
    ];
  };

  test("rotation gives a new key file, and every stored secret opens with it", async () => {
    const id = await storeSecrets();
    const before = await readFile(keyFile(), "utf8");
    expect(await rotateKeyFile(dataDir, store)).toEqual({ resealed: 7 });
    expect(await readFile(keyFile(), "utf8")).not.toBe(before);
    expect((await stat(keyFile())).mode & 0o777).toBe(0o600);
    expect(await openSecrets(id)).toEqual(["t", "p", "group", "w", "s", "h", "g"]);
  });

  test("a rotation that finds a secret it cannot open changes nothing", async () => {
    const id = await storeSecrets();
    await store.projects.setSecret(id, "BROKEN", "v1.AAAA");
    expect(String(await failureOf(rotateKeyFile(dataDir, store)))).toContain("is damaged");
    await store.projects.deleteSecret(id, "BROKEN");
    expect(await openSecrets(id)).toEqual(["t", "p", "group", "w", "s", "h", "g"]);
  });

  test("a rotation that was cut off before the key files were exchanged is finished at the next start", async () => {
    const id = await storeSecrets();
    const { secrets } = await load();
    const next = randomToken(32);
    await writeFile(join(dataDir, "slipway.key.next"), next, { mode: 0o600 });
    await resealAll(store, secrets, buildSecrets(Buffer.from(next, "base64url")));
    expect(await openSecrets(id)).toEqual(["t", "p", "group", "w", "s", "h", "g"]);
    expect(await readFile(keyFile(), "utf8")).toBe(next);
  });
});
