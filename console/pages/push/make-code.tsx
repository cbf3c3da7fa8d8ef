import { Text } from "@mantine/core";
import { CopyBlock } from "../../components/copy-text.tsx";
import { Panel } from "../../components/page.tsx";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";

const ways = ["own", "jwt", "verify"] as const;

/** The three ways in which a backend makes the code that a client connects with. */
export function MakeCode() {
  return (
    <Panel title={t("push.codeTitle")} about={t("push.codeAbout")}>
      <div className="stack">
        {ways.map((way) => (
          <div key={way}>
            <CopyBlock
              title={t(`push.code_${way}`)}
              value={examples(location.origin)[way]}
              label={t("push.example", { language: t(`push.code_${way}`) })}
            />
            <Text size="sm" c="dimmed" mt={4}>
              {t(`push.code_${way}About`)}
            </Text>
          </div>
        ))}
        <Text size="sm">
          {rich("push.codeManual", {
            link: (
              <a href="/manual/push.html#1-verify-codes" target="_blank" rel="noopener">
                {t("push.codeManualLink")}
              </a>
            ),
          })}
        </Text>
      </div>
    </Panel>
  );
}

function examples(origin: string): Record<(typeof ways)[number], string> {
  return {
    own: `curl -s -X POST '${origin}/api/push/codes' \\
  -H 'Authorization: Bearer TOKEN' -H 'Content-Type: application/json' -d '{"userId":"42"}'`,
    jwt: `// push.jwt.secrets: [SECRET] and push.jwt.audience: push in the configuration; npm install jose
const code = await new SignJWT()
  .setProtectedHeader({ alg: "HS256" })
  .setSubject("42").setAudience("push").setExpirationTime("1m")
  .sign(new TextEncoder().encode(SECRET));`,
    verify: `# push.verify-uri: http://accounts.internal/verify in the configuration
# Slipway asks your service about each code, which your service made as it likes:
curl 'http://accounts.internal/verify?code=CODE'
# and it answers {"userId":"42"}`,
  };
}
