import { openCLibrary } from "./c-library.ts";

/**
 * Replaces this process by another program, with the same pid and the same open input and output (execve). Resolves
 * only if the system refused that, with the reason.
 */
export async function replaceProcess(
  command: readonly [program: string, ...args: string[]],
  env: Record<string, string | undefined>,
): Promise<string> {
  const { ptr } = await import("bun:ffi");
  const { symbols, close } = await openCLibrary({
    execve: { args: ["cstring", "ptr", "ptr"], returns: "i32" },
  });
  const variables = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  );
  // The texts are kept in variables, so that they are not collected before the call.
  const [args, environment] = [command.map(cText), variables.map(cText)];
  const addresses = (texts: Buffer[]) => new BigUint64Array([...texts.map((text) => BigInt(ptr(text))), 0n]);
  symbols.execve(cText(command[0]), addresses(args), addresses(environment));
  close();
  return "the system refused execve";
}

/** As C reads it: with a zero at its end. */
function cText(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}
