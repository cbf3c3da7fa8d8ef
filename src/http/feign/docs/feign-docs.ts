import { documentFiles } from "../../api/document-files.ts";
import { feignDocument } from "./feign-document.ts";

/** `/docs/push` and its OpenAPI document. */
export const feignDocs = documentFiles(feignDocument, {
  "OpenAPI document": "/docs/push/openapi.json",
  manual: "/manual/push.html",
});
