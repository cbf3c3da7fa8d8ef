import { secret, setting } from "./declare-setting.ts";
import { text, url } from "./setting-kinds.ts";

/** Events of the push gateway for the backend. */
export const eventSettings = {
  "push.events-uri": setting(
    url("http", "https"),
    undefined,
    "Address that receives events by POST: users online and offline, joins and leaves of channels, client messages. The same on all instances.",
  ),
  "push.events-secret": secret(
    text,
    undefined,
    "Signs requests to push.events-uri as Standard Webhooks (`whsec_…` or plain text). Unset: no signature.",
  ),
};
