import { Panel } from "../../components/page.tsx";
import { t } from "../../text/text.ts";

const words = ["normal", "temporary", "channel"] as const;

/** What the words of these pages mean. */
export function Words() {
  return (
    <Panel title={t("push.words")}>
      <dl className="facts">
        {words.map((word) => (
          <div key={word}>
            <dt>{t(`push.word_${word}`)}</dt>
            <dd>{t(`push.word_${word}About`)}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
