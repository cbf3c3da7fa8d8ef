/**
 * A client in a separate process: it can be stopped (SIGSTOP) and does not share the server's event loop. It prints one
 * line of JSON for each event.
 */
const [url = "", protocols = ""] = process.argv.slice(2);
const socket = new WebSocket(url, protocols === "" ? [] : [protocols]);
const say = (event: object) => process.stdout.write(`${JSON.stringify(event)}\n`);
let received = 0;
let bytes = 0;
socket.onopen = () => say({ open: true });
socket.onmessage = ({ data }) => {
  received++;
  bytes += String(data).length;
  say({ received, bytes });
};
socket.onclose = ({ code, reason }) => {
  say({ closed: code, reason });
  process.exit(0);
};
