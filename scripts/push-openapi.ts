/** Writes the OpenAPI document of `/feign` to docs/push-openapi.json. */
import { join } from "node:path";
import { feignDocument } from "../src/http/feign/docs/feign-document.ts";

const file = join(import.meta.dir, "../docs/push-openapi.json");
await Bun.write(file, `${JSON.stringify(feignDocument(), null, 2)}\n`);
console.log(file);
