import { join } from "node:path";
import { eventually } from "./eventually.ts";

export interface Reader {
  received: number;
  bytes: number;
  closed: number | null;
  stopReading(): void;
  end(): Promise<void>;
}

/** Starts a client in a separate process and waits until it is connected. */
export async function startReader(url: string, protocol = ""): Promise<Reader> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "reader-process.ts"), url, protocol], {
    stdout: "pipe",
    stderr: "inherit",
  });
  let isOpen = false;
  const reader: Reader = {
    received: 0,
    bytes: 0,
    closed: null,
    stopReading: () => child.kill("SIGSTOP"),
    async end() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
  void (async () => {
    let text = "";
    for await (const chunk of child.stdout) {
      const lines = (text + new TextDecoder().decode(chunk)).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const event = JSON.parse(line) as {
          open?: boolean;
          received?: number;
          bytes?: number;
          closed?: number;
        };
        isOpen ||= event.open === true;
        reader.received = event.received ?? reader.received;
        reader.bytes = event.bytes ?? reader.bytes;
        reader.closed = event.closed ?? reader.closed;
      }
    }
  })();
  await eventually(`a reader connects to ${url}`, () => isOpen || reader.closed !== null);
  return reader;
}
