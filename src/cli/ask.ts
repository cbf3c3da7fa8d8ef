import { Fault } from "../errors.ts";

/** A password from the terminal without echo, or the first line of standard input when it is piped. */
export async function askPassword(prompt: string): Promise<string> {
  if (!process.stdin.isTTY) {
    const [line] = (await Bun.stdin.text()).split(/\r?\n/);
    if (!line)
      throw new Fault("invalid", "No password on standard input. Type it at a terminal, or pipe it in.");
    return line;
  }
  process.stderr.write(prompt);
  process.stdin.setRawMode(true);
  process.stdin.resume();
  try {
    return await new Promise<string>((resolve, reject) => {
      let typed = "";
      process.stdin.on("data", (chunk: Buffer) => {
        for (const character of chunk.toString("utf8")) {
          if (character === "\r" || character === "\n") return resolve(typed);
          if (character === "\x03" || character === "\x04") return reject(new Fault("invalid", "Canceled."));
          typed = character === "\x7f" ? typed.slice(0, -1) : typed + character;
        }
      });
    });
  } finally {
    process.stdin.setRawMode(false);
    process.stdin.removeAllListeners("data");
    process.stdin.pause();
    process.stderr.write("\n");
  }
}
