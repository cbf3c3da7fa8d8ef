import { CopyBlock } from "../../components/copy-text.tsx";
import { Panel } from "../../components/page.tsx";
import { t } from "../../text/text.ts";

/** How an application connects to this server, ready to copy. */
export function ConnectCode() {
  return (
    <Examples
      title={t("push.connectTitle")}
      about={t("push.connectAbout")}
      examples={connectExamples(location.origin)}
    />
  );
}

/** How a backend publishes to this server, ready to copy. */
export function PublishCode() {
  return (
    <Examples
      title={t("push.publishCode")}
      about={t("push.publishCodeAbout")}
      examples={publishExamples(location.origin)}
    />
  );
}

function Examples({
  title,
  about,
  examples,
}: {
  title: string;
  about: string;
  examples: Record<string, string>;
}) {
  return (
    <Panel title={title} about={about}>
      <div className="stack">
        {Object.entries(examples).map(([language, code]) => (
          <CopyBlock key={language} title={language} value={code} label={t("push.example", { language })} />
        ))}
      </div>
    </Panel>
  );
}

function connectExamples(origin: string): Record<string, string> {
  const socket = `${origin.replace(/^http/, "ws")}/ws`;
  return {
    curl: `# -N: lines appear as they arrive; CODE is what your backend made for the user
curl -N '${origin}/sse?code=CODE&channel=news'`,
    TypeScript: `import { SlipwayPush } from "slipway-push";

const push = new SlipwayPush({
  url: "${socket}",
  code: async () => (await fetch("/my/push-code", { method: "POST" })).text(),
  channels: ["news"],
});
push.on("message", ({ targetType, target, data }) => console.log(targetType, target, data));
push.open();`,
    Java: `HttpClient.newHttpClient().newWebSocketBuilder()
    .buildAsync(URI.create("${socket}?code=" + code + "&channel=news"), new WebSocket.Listener() {
        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
            System.out.print(data);
            return WebSocket.Listener.super.onText(socket, data, last);
        }
    }).join();`,
  };
}

function publishExamples(origin: string): Record<string, string> {
  const url = `${origin}/feign/publish`;
  return {
    curl: `curl '${url}' -H 'Content-Type: application/json' \\
  -d '{"targetType":"user","target":"42","data":"Your order has shipped"}'`,
    TypeScript: `await fetch("${url}", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ targetType: "user", target: "42", data: "Your order has shipped" }),
});`,
    Java: `var request = HttpRequest.newBuilder(URI.create("${url}"))
    .header("Content-Type", "application/json")
    .POST(HttpRequest.BodyPublishers.ofString(
        "{\\"targetType\\":\\"user\\",\\"target\\":\\"42\\",\\"data\\":\\"Your order has shipped\\"}"))
    .build();
HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());`,
  };
}
