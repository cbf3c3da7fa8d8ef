import type { FFIFunction, Library } from "bun:ffi";
import { messageOf } from "../errors.ts";

/** The C library of most Linux systems, of Alpine, and of macOS. */
const libraries = [
  "libc.so.6",
  "libc.musl-x86_64.so.1",
  "libc.musl-aarch64.so.1",
  "/usr/lib/libSystem.B.dylib",
];

/** Functions of the system that the runtime does not offer. Throws where there is no such library. */
export async function openCLibrary<Functions extends Record<string, FFIFunction>>(
  functions: Functions,
): Promise<Library<Functions>> {
  const { dlopen } = await import("bun:ffi");
  let fault = "";
  for (const library of libraries) {
    try {
      return dlopen(library, functions);
    } catch (error) {
      fault = messageOf(error);
    }
  }
  throw new Error(`no C library was found: ${fault}`);
}
