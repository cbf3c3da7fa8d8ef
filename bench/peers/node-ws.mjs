/** The usual way: Node with `ws`, one loop over the sockets per message. Runs under Node. */
import { createServer } from "node:http";
import { WebSocketServer } from "ws";

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: true });

const server = createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const { data } = JSON.parse(Buffer.concat(pieces).toString());
    for (const socket of sockets.clients) socket.send(data);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ code: 0, successful: true, msg: null, data: "ok", encrypt: false }));
  });
});
server.keepAliveTimeout = 600_000;
server.on("upgrade", (request, socket, head) => {
  sockets.handleUpgrade(request, socket, head, (webSocket) => webSocket.on("error", () => {}));
});
server.listen(0, "127.0.0.1", 4096, () => console.log(`ready at http://127.0.0.1:${server.address().port}`));
