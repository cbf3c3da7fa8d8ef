/**
 * Attacking clients in a separate process: `attacker-process.ts <attack> <port> <per second> <at once>`. It attacks
 * until it gets a message, and then answers with the number of ended attempts.
 */
import type { Socket } from "bun";
import type { Attack } from "./attackers.ts";
import { maskedFrame } from "./raw-socket.ts";

const [attack, port, perSecond, atOnce] = process.argv.slice(2);
const sentUnreadBytes = 20_000;
/** After this many unread messages the server has closed the connection, and another one is opened. */
const unreadPerConnection = 400;

let begun = 0;
let underWay = 0;
let ended = 0;

function connect(open: string, onAnswer: (socket: Socket<undefined>) => void): void {
  let isAnswered = false;
  const over = () => {
    underWay--;
    if (ended++ === 0) process.send?.("started");
  };
  underWay++;
  Bun.connect<undefined>({
    hostname: "127.0.0.1",
    port: Number(port),
    socket: {
      open: (socket) => void socket.write(open),
      data(socket) {
        if (isAnswered) return;
        isAnswered = true;
        onAnswer(socket);
      },
      close: over,
      error: () => {},
    },
  }).catch(over);
}

/** Each attempt has another client address, so that no limit per address stops it early. */
function handshake(code: string): string {
  const address = `198.18.${(begun >> 8) & 255}.${begun & 255}`;
  return `GET /ws?code=${code} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: ${address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`;
}

function sendAndGo(bytes: Uint8Array): void {
  connect(handshake("mallory"), (socket) => {
    socket.write(bytes);
    socket.end();
  });
}

const flood = Buffer.concat(Array.from({ length: 200 }, () => maskedFrame(1, Buffer.alloc(500, 65))));
const garbage = Buffer.alloc(2000, 0xff);
const unread = JSON.stringify({ targetType: "user", target: "lazy", data: "x".repeat(sentUnreadBytes) });
const publishUnread = `POST /feign/publish HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${unread.length}\r\n\r\n${unread}`;

const attempts: Record<Attack, () => void> = {
  knock: () => connect(handshake(`bad${begun}`), (socket) => socket.end()),
  flood: () => sendAndGo(flood),
  garbage: () => sendAndGo(garbage),
  unread() {
    if (begun % unreadPerConnection === 1) connect(handshake("lazy"), (socket) => socket.pause());
    connect(publishUnread, (socket) => socket.end());
  },
};

const startedAtMs = performance.now();
const timer = setInterval(() => {
  const due = (Number(perSecond) * (performance.now() - startedAtMs)) / 1000;
  while (begun < due && underWay < Number(atOnce)) {
    begun++;
    attempts[attack as Attack]();
  }
}, 1);

process.on("message", () => {
  clearInterval(timer);
  process.send?.({ attempts: ended });
});
process.on("disconnect", () => process.exit(0));
