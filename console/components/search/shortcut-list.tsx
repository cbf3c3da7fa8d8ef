import { Kbd, Modal } from "@mantine/core";
import { Fragment, type ReactNode } from "react";
import { pagesFor } from "../../places.ts";
import { t } from "../../text/text.ts";

/** The keys that work on every page. */
export default function ShortcutList({
  role,
  isOpen,
  onClose,
}: {
  role: "admin" | "user";
  isOpen: boolean;
  onClose: () => void;
}) {
  return (
    <Modal opened={isOpen} onClose={onClose} title={t("shell.shortcuts")}>
      <dl className="shortcuts">
        <Shortcut text={t("shell.shortcutSearch")}>
          <Kbd>/</Kbd> <Kbd>Ctrl</Kbd>+<Kbd>K</Kbd>
        </Shortcut>
        <Shortcut text={t("shell.shortcutChoose")}>
          <Kbd>↑</Kbd> <Kbd>↓</Kbd>
        </Shortcut>
        <Shortcut text={t("shell.shortcutOpen")}>
          <Kbd>Enter</Kbd>
        </Shortcut>
        {pagesFor(role).map(
          ({ name, key, moreKeys = [] }) =>
            key !== undefined && (
              <Shortcut key={name} text={t("shell.shortcutGo", { page: t(`shell.${name}`) })}>
                <Kbd>G</Kbd> {t("shell.shortcutThen")}{" "}
                {[key, ...moreKeys].map((each, index) => (
                  <Fragment key={each}>
                    {index > 0 && ` ${t("shell.shortcutOr")} `}
                    <Kbd>{each.toUpperCase()}</Kbd>
                  </Fragment>
                ))}
              </Shortcut>
            ),
        )}
        <Shortcut text={t("shell.shortcutRows")}>
          <Kbd>J</Kbd> <Kbd>K</Kbd> <Kbd>X</Kbd>
        </Shortcut>
        <Shortcut text={t("shell.shortcutClose")}>
          <Kbd>Esc</Kbd>
        </Shortcut>
        <Shortcut text={t("shell.shortcutHelp")}>
          <Kbd>?</Kbd>
        </Shortcut>
      </dl>
    </Modal>
  );
}

function Shortcut({ text, children }: { text: string; children: ReactNode }) {
  return (
    <div>
      <dt>{text}</dt>
      <dd>{children}</dd>
    </div>
  );
}
