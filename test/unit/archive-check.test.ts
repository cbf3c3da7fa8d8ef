import { expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packFolder, unpackInto } from "../../src/runner/transfer/pack.ts";
import { treeDigest } from "../../src/runner/workspace/tree-digest.ts";

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "slipway-archive-"));
  process.on("exit", () => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function* once(bytes: Uint8Array) {
  yield bytes;
}

const options = { keepsOwners: false, room: { bytes: 1e9, reason: "" } };
const file = { type: "0", name: "./a", target: "", mode: 0o644, magic: "ustar  \0", size: "", sum: "" };

/** An archive with one header for each entry. A type of several letters is the text of one block. */
function archive(...entries: Partial<typeof file>[]): Uint8Array {
  const blocks = entries.map((entry) => {
    const { type, name, target, mode, magic, size, sum: asked } = { ...file, ...entry };
    const header = Buffer.alloc(512);
    if (type.length > 1) return header.fill(type, 0, type.length);
    header.write(name, 0, "latin1");
    header.write(`${mode.toString(8).padStart(7, "0")}\0`, 100, "latin1");
    for (const at of [108, 116]) header.write("0000000\0", at, "latin1");
    for (const at of [124, 136]) header.write("00000000000\0", at, "latin1");
    header.write(`        ${type}${target}`, 148, "latin1");
    header.write(magic, 257, "latin1");
    header.write(size, 124, "latin1");
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(asked || `${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
    return header;
  });
  return Bun.zstdCompressSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

const octal = (size: number) => `${size.toString(8).padStart(11, "0")}\0`;

test.each<[string, Partial<typeof file>[]]>([
  ["is outside of the folder", [{ name: "/etc/passwd" }]],
  ["is outside of the folder", [{ name: "./../up" }]],
  ["is outside of the folder", [{ name: "up/../../x" }]],
  ["is behind a link", [{ type: "2", name: "./l", target: "/etc" }, { name: "./l/passwd" }]],
  [
    "is behind a link",
    [{ type: "5", name: "./d/" }, { type: "2", name: "./d/l", target: "/" }, { name: "./d/l/etc/x" }],
  ],
  ["is there twice", [{ type: "2", name: "./l", target: "/etc/passwd" }, { name: "./l" }]],
  ["is no file, folder or link", [{ type: "3", name: "./device" }]],
  ["is no file, folder or link", [{ type: "6", name: "./pipe" }]],
  ["would run as another user", [{ mode: 0o4755 }]],
  ["would run as another user", [{ type: "5", name: "./d/", mode: 0o2755 }]],
  ["it has an unknown format", [{ magic: "ustar\0" + "00" }]],
  // tar reads what follows these as headers, whatever their size is.
  ...[
    { type: "1", name: "./b", target: "./c" },
    { type: "2", name: "./b", target: "c" },
    { type: "5", name: "./b/" },
  ].map((hiding): [string, Partial<typeof file>[]] => [
    "is no file and has contents",
    [{ name: "./c" }, { ...hiding, size: octal(1024) }, { mode: 0o4755 }, { type: "3", name: "./device" }],
  ]),
  ["is no file, folder or link", [{ name: "./b/", size: octal(512) }, { mode: 0o4755 }]],
  ["is no file, folder or link", [{ type: "\0", name: "./b/", size: octal(512) }, { mode: 0o4755 }]],
  ...["7", "A", "D", "M", "N", "S", "V", "X", "g", "x"].map((type): [string, Partial<typeof file>[]] => [
    "is no file, folder or link",
    [{ type, name: "./b" }],
  ]),
  // tar looks for the next header after one whose sum is wrong.
  ["a header is damaged", [{ name: "./b", size: octal(512), sum: "000001\0 " }, { mode: 0o4755 }]],
  ...["00000000010x", " 0000000001\0", "-0000000001\0", "\x80\0\0\x01", "\xff"].map(
    (size): [string, Partial<typeof file>[]] => ["a header is damaged", [{ size }]],
  ),
  ["is outside of the folder", [{ type: "2", name: "./l", target: "b" }, { name: "././l/x" }]],
  ["a name is damaged", [{ type: "L", size: octal(4) }, { type: "./b/and more" }, {}]],
  ["a name is damaged", [{ type: "L", size: octal(1) }, { type: "\0\0" }, {}]],
  ["a name is damaged", [{ type: "L" }, {}]],
  ["something follows its end", [{ type: "\0\0" }, {}]],
])("an archive is refused, and nothing is unpacked: %s", async (why, entries) => {
  const target = folder();
  await expect(unpackInto(target, once(archive(...entries)), options)).rejects.toThrow(why);
  expect(readdirSync(target).filter((name) => name === "passwd" || name === "a")).toEqual([]);
});

test("a hard link to the outside links to nothing there", async () => {
  const target = folder();
  const bytes = archive({ type: "1", name: "./b", target: "/etc/passwd" });
  await expect(unpackInto(target, once(bytes), options)).rejects.toThrow("is outside of the folder");
  expect(readdirSync(target)).toEqual([]);
});

test("what was packed is unpacked as it was", async () => {
  const [from, to] = [folder(), folder()];
  mkdirSync(join(from, "sub", "empty"), { recursive: true });
  writeFileSync(join(from, "sub", "n".repeat(180)), "a long name");
  writeFileSync(join(from, "-dash"), Buffer.alloc(3_000_000, 7));
  symlinkSync("t".repeat(300), join(from, "sub", "link"));
  const parts: Uint8Array[] = [];
  expect(await packFolder(from, options, async (part) => void parts.push(part))).toBe(parts.length);
  await unpackInto(to, once(Buffer.concat(parts)), options);
  expect(Bun.spawnSync(["diff", "-r", "--no-dereference", from, to]).stdout.toString()).toBe("");
  expect(await treeDigest(to)).toEqual(await treeDigest(from));
});

test("a small archive of a large file is not unpacked beyond the room for it", async () => {
  const [from, to] = [folder(), folder()];
  writeFileSync(join(from, "sparse"), "");
  truncateSync(join(from, "sparse"), 100_000_000);
  const parts: Uint8Array[] = [];
  await packFolder(from, options, async (part) => void parts.push(part));
  const sent = Buffer.concat(parts);
  expect(sent.byteLength).toBeLessThan(100_000);
  const room = { bytes: 10_000_000, reason: "no room for it" };
  await expect(unpackInto(to, once(sent), { ...options, room })).rejects.toThrow("no room for it");
  expect(statSync(join(to, "sparse")).blocks * 512).toBeLessThan(11_000_000);
});

test("an archive without its end, or with a changed byte, is refused", async () => {
  const from = folder();
  for (let each = 0; each < 20; each++)
    writeFileSync(join(from, String(each)), crypto.randomUUID().repeat(2000));
  const parts: Uint8Array[] = [];
  await packFolder(from, options, async (part) => void parts.push(part));
  const whole = Buffer.concat(parts);
  const refused = (bytes: Uint8Array) =>
    expect(unpackInto(folder(), once(bytes), options)).rejects.toThrow(
      /arrived damaged|could not be unpacked|archive is refused/,
    );
  await refused(whole.subarray(0, whole.byteLength / 2));
  for (const at of [0.3, 0.6, 0.9].map((part) => Math.floor(whole.byteLength * part))) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 1;
    await refused(changed);
  }
});
