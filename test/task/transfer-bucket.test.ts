import { afterAll, describe, expect, test } from "bun:test";
import { transferBucket, transferFolder } from "../../src/task/transfer/transfer-files.ts";
import { startS3Server } from "../support/s3-server.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const programs = await serviceUrl("s3");
const store = programs === undefined ? null : await startS3Server(programs);
afterAll(() => store?.stop());
const prefix = "slipway/";

const kinds = [
  { kind: "a folder", files: transferFolder(temporaryFolder("transfers")) },
  ...(store === null ? [] : [{ kind: "an S3 store", files: transferBucket({ ...store, prefix }) }]),
];

describe.each(kinds)("parts of transfers in $kind", ({ files }) => {
  const part = Buffer.alloc(3_000_000, 5);

  test("are there as they were put, and a part that is put again is replaced", async () => {
    await files.put("one", 0, Buffer.from("first"));
    await files.put("one", 0, part);
    await files.put("one", 1, Buffer.alloc(0));
    expect(Buffer.from((await files.get("one", 0)) ?? []).equals(part)).toBe(true);
    expect((await files.get("one", 1))?.byteLength).toBe(0);
    expect(await files.get("one", 2)).toBeNull();
    expect(await files.get("two", 0)).toBeNull();
  });

  test("are gone when nobody needs them", async () => {
    await files.put("three", 0, part);
    await files.put("four", 0, part);
    await files.remove("three", 2);
    expect(await files.get("three", 0)).toBeNull();
    await files.removeOthers(async () => {
      // Another server begins one.
      await files.put("five", 0, part);
      return new Set(["one"]);
    });
    expect(await files.get("four", 0)).toBeNull();
    expect(await files.get("five", 0)).not.toBeNull();
    expect(await files.get("one", 0)).not.toBeNull();
  });
});

test.skipIf(store === null)("a bucket that cannot be used is an error", async () => {
  if (store === null) return;
  const wrong = transferBucket({ ...store, prefix, secretAccessKey: "another" });
  await expect(wrong.put("one", 0, Buffer.from("x"))).rejects.toThrow();
  await expect(wrong.get("one", 0)).rejects.toThrow();
});
