import { truncateSync } from "node:fs";
import { join } from "node:path";
import type { ServiceState } from "../../model/service/service.ts";
import { replaceFile } from "../../whole-file.ts";
import type { Sockets } from "../keeper/sockets.ts";
import { nothingServes } from "../route/caddy-config.ts";

/** After this time, those who wait for a service that is started again get the page that nothing serves. */
const patienceMs = 30_000;

/**
 * The port of a service, as the proxy reads it: it is there only while processes of the service listen on it, so that no request
 * reaches another program. An empty or missing file: requests wait. The keeper empties it the moment the service ends.
 */
export function openPortFile(folder: string, port: number) {
  const file = join(folder, "port");
  /** The listening sockets that were found to be the service's own. */
  let proven = "";
  let written: string | null = null;
  let isHeld = false;
  let seen: Sockets | null = null;

  function write(text: string): void {
    if (text === written) return;
    replaceFile(file, text);
    written = text;
  }

  /** Requests wait until the next start. */
  function hold(): void {
    isHeld = true;
    proven = "";
    written = null;
    try {
      truncateSync(file);
    } catch {
      // There is none yet.
    }
  }

  return {
    file,
    hold,
    /** Before a start: what an earlier copy has left says nothing. */
    begin(): void {
      hold();
      isHeld = false;
    },
    /** Whether requests reach the service. */
    isShown: () => written === String(port),
    /** `ageMs`: of the state. `isOwn`: whether the listeners are processes of the service. */
    look(state: ServiceState, ageMs: number, sockets: Sockets, isOwn: () => boolean): void {
      if (state === "serving" || state === "unhealthy") {
        // To find the owner of a socket, all processes are searched. So the result is kept until the sockets change.
        if (isHeld || (sockets === seen && written !== null)) return;
        seen = sockets;
        const now = `listening: ${sockets.listening(port).join(" ")}`;
        if (now === proven) return;
        // The keeper may have emptied the file.
        written = null;
        proven = isOwn() ? now : "";
        write(proven === "" ? "" : String(port));
      } else {
        proven = "";
        const isOver = state === "stopped" || state === "down" || ageMs > patienceMs;
        write(isOver ? nothingServes : "");
      }
    },
  };
}
