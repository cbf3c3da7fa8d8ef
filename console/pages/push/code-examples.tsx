import { Tabs, Text } from "@mantine/core";
import { useState } from "react";
import { CopyBlock } from "../../components/copy-text.tsx";
import { Panel } from "../../components/page.tsx";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";

const languages = ["curl", "TypeScript", "Java"] as const;
const steps = ["code", "connect", "publish"] as const;

type Language = (typeof languages)[number];

/** How an application uses this server, ready to copy: one language at a time. */
export function CodeExamples() {
  const [language, setLanguage] = useState<Language>("curl");
  const examples = examplesFor(location.origin)[language];
  return (
    <Panel title={t("push.code")} about={t("push.codeAbout")}>
      <Tabs
        value={language}
        onChange={(chosen) => setLanguage(languages.find((each) => each === chosen) ?? "curl")}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          {languages.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {each}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={language}>
          <div className="stack">
            {steps.map((step) => (
              <div key={step}>
                <CopyBlock
                  title={t(`push.step_${step}`)}
                  value={examples[step]}
                  label={t(`push.example_${step}`, { language })}
                />
                <Text size="sm" c="dimmed" mt={4}>
                  {rich(`push.step_${step}About`, { link: <Manual /> })}
                </Text>
              </div>
            ))}
          </div>
        </Tabs.Panel>
      </Tabs>
    </Panel>
  );
}

function Manual() {
  return (
    <a href="/manual/push.html#1-verify-codes" target="_blank" rel="noopener">
      {t("push.codeManualLink")}
    </a>
  );
}

function examplesFor(origin: string): Record<Language, Record<(typeof steps)[number], string>> {
  const socket = `${origin.replace(/^http/, "ws")}/ws`;
  const codes = `${origin}/api/push/codes`;
  const url = `${origin}/feign/publish`;
  return {
    curl: {
      code: `curl -s -X POST '${codes}' \\
  -H 'Authorization: Bearer TOKEN' -H 'Content-Type: application/json' -d '{"userId":"42"}'`,
      connect: `# -N: lines appear as they arrive; CODE is what your backend made for the user
curl -N '${origin}/sse?code=CODE&channel=news'`,
      publish: `curl '${url}' -H 'Content-Type: application/json' \\
  -d '{"targetType":"user","target":"42","data":"Your order has shipped"}'`,
    },
    TypeScript: {
      code: `const answer = await fetch("${codes}", {
  method: "POST",
  headers: { authorization: \`Bearer \${TOKEN}\`, "content-type": "application/json" },
  body: JSON.stringify({ userId: "42" }),
});
const { code } = await answer.json();`,
      connect: `import { SlipwayPush } from "slipway-push";

const push = new SlipwayPush({
  url: "${socket}",
  code: async () => (await fetch("/my/push-code", { method: "POST" })).text(),
  channels: ["news"],
});
push.on("message", ({ targetType, target, data }) => console.log(targetType, target, data));
push.open();`,
      publish: `await fetch("${url}", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ targetType: "user", target: "42", data: "Your order has shipped" }),
});`,
    },
    Java: {
      code: `var request = HttpRequest.newBuilder(URI.create("${codes}"))
    .header("Content-Type", "application/json")
    .header("Authorization", "Bearer " + token)
    .POST(HttpRequest.BodyPublishers.ofString(
        "{\\"userId\\":\\"42\\"}"))
    .build();
HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());`,
      connect: `HttpClient.newHttpClient().newWebSocketBuilder()
    .buildAsync(URI.create("${socket}?code=" + code + "&channel=news"), new WebSocket.Listener() {
        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
            System.out.print(data);
            return WebSocket.Listener.super.onText(socket, data, last);
        }
    }).join();`,
      publish: `var request = HttpRequest.newBuilder(URI.create("${url}"))
    .header("Content-Type", "application/json")
    .POST(HttpRequest.BodyPublishers.ofString(
        "{\\"targetType\\":\\"user\\",\\"target\\":\\"42\\",\\"data\\":\\"Your order has shipped\\"}"))
    .build();
HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());`,
    },
  };
}
