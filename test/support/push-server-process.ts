/** The push role as a separate process, with a verify service that uses the code as the user id. */
import pino from "pino";
import { buildApp } from "../../src/app.ts";
import { configOf } from "../../src/config/config-load.ts";
import { startVerifyService } from "./verify-service.ts";

const verify = startVerifyService();
const app = await buildApp(
  configOf({
    "server.listen": { host: "127.0.0.1", port: 0 },
    "push.verify-uri": verify.url,
    "push.connect-rate": 0,
  }),
  "push",
  pino({ level: "silent" }),
);
process.stdout.write(String(app.port));
