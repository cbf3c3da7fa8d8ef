/** GitHub's own library on Node: verifies and parses each delivery, runs an empty handler, records nothing. */
import { createServer } from "node:http";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";

const webhooks = new Webhooks({ secret: process.env.WEBHOOK_SECRET });
webhooks.on("push", () => {});
const server = createServer(createNodeMiddleware(webhooks, { path: "/hook" }));
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", 4096, () => console.log(`ready at http://127.0.0.1:${server.address().port}`));
