import {
  ActionIcon,
  Burger,
  Drawer,
  Kbd,
  Menu,
  Tooltip,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { Link, useLocation } from "wouter";
import { useNotices } from "../notices.ts";
import { navigationFor, pagesFor, placeAt } from "../places.ts";
import { useRecent } from "../recent.ts";
import { type Me, signOut } from "../session.ts";
import { useShortcuts } from "../shortcuts.ts";
import { t } from "../text/text.ts";
import { expectTyping, takeTyped } from "../typed-ahead.ts";
import { leaving } from "../unsaved.ts";
import { visible } from "../visible.ts";
import { Icon } from "./icon.tsx";
import { IsolationNotice } from "./isolation-notice.tsx";
import { LiveState } from "./live-state.tsx";
import { Mark } from "./mark.tsx";
import { Progress } from "./progress.tsx";
import { Unreachable } from "./unreachable.tsx";

const SearchDialog = lazy(() => import("./search/search-dialog.tsx"));
const ShortcutList = lazy(() => import("./search/shortcut-list.tsx"));

export function Shell({ me, children }: { me: Me; children: ReactNode }) {
  const [isNavOpen, { toggle, close }] = useDisclosure(false);
  const [dialog, setDialog] = useState<"search" | "help" | null>(null);
  const open = (wanted: "search" | "help") => {
    if (wanted === "search" && dialog !== "search") expectTyping();
    setDialog(wanted);
  };
  const closeDialog = () => {
    takeTyped();
    setDialog(null);
  };
  useShortcuts(me.role, open);
  const [path] = useLocation();
  useRecent(pagesFor(me.role).some(({ href }) => href === path) ? path : null);
  const search = () => {
    close();
    open("search");
  };
  return (
    <div className="shell">
      <a href="#main" className="skip">
        {t("shell.skip")}
      </a>
      <Progress />
      {/* No banner: a dialog over the page has one of its own. */}
      <section className="top-bar" aria-label={t("shell.topBar")}>
        <Burger
          opened={isNavOpen}
          onClick={toggle}
          size="sm"
          aria-label={t(isNavOpen ? "shell.closeNavigation" : "shell.openNavigation")}
        />
        <Brand />
        <LiveState />
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t("search.open")} onClick={search}>
          <Icon name="search" />
        </ActionIcon>
      </section>
      <aside className="side">
        <Brand />
        <SearchButton onOpen={search} />
        <Navigation me={me} />
        <Foot me={me} onShortcuts={() => setDialog("help")} />
      </aside>
      <Drawer opened={isNavOpen} onClose={close} size={260} title={<Brand />} zIndex={300}>
        <Navigation me={me} onGo={close} />
        <Foot me={me} onShortcuts={() => setDialog("help")} />
      </Drawer>
      <Suspense fallback={null}>
        {dialog === "search" && (
          <SearchDialog me={me} isOpen onClose={closeDialog} onHelp={() => setDialog("help")} />
        )}
        {dialog === "help" && <ShortcutList role={me.role} isOpen onClose={closeDialog} />}
      </Suspense>
      <main id="main" tabIndex={-1}>
        <Unreachable />
        <IsolationNotice isAdmin={me.role === "admin"}>{children}</IsolationNotice>
      </main>
    </div>
  );
}

function Brand() {
  return (
    <Link href="/" className="brand" aria-label={t("shell.brand")}>
      <Mark />
      <span>Slipway</span>
    </Link>
  );
}

function SearchButton({ onOpen }: { onOpen: () => void }) {
  return (
    <UnstyledButton className="search-button" onClick={onOpen} aria-keyshortcuts="Control+K /">
      <Icon name="search" size={16} />
      <span>{t("search.open")}</span>
      <Kbd size="xs" aria-hidden="true">
        Ctrl K
      </Kbd>
    </UnstyledButton>
  );
}

function Navigation({ me, onGo }: { me: Me; onGo?: () => void }) {
  const [location] = useLocation();
  const here = placeAt(location, me.role);
  return (
    <nav aria-label={t("shell.navigation")} className="nav">
      {navigationFor(me.role).map(({ group, items }) => (
        <div key={items[0]?.name} className="nav-group">
          {group !== null && <div className="nav-title">{t(`shell.group_${group}`)}</div>}
          {items.map(({ name, pages: [{ href }] }) => (
            <Link
              key={name}
              href={href}
              className="nav-item"
              onClick={() => onGo?.()}
              aria-current={here?.name === name ? "page" : undefined}
            >
              <Icon name={name} />
              {t(`shell.${name}`)}
              {name === "home" && <WaitingCount />}
            </Link>
          ))}
        </div>
      ))}
    </nav>
  );
}

/** On other pages than Home: how many deploys wait for an approval. */
function WaitingCount() {
  const [location] = useLocation();
  const count = useNotices().data?.approvals.total ?? 0;
  if (count === 0 || location === "/") return null;
  return (
    <span className="count" title={t("shell.approvals", { count })}>
      {t("shell.approvalCount", { count })}
    </span>
  );
}

function Foot({ me, onShortcuts }: { me: Me; onShortcuts: () => void }) {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme("light") === "dark";
  const [, go] = useLocation();
  const label = t(isDark ? "shell.useLight" : "shell.useDark");
  return (
    <div className="side-foot">
      <LiveState />
      <div className="side-foot-row">
        <Menu position="top-start" width={200}>
          <Menu.Target>
            <UnstyledButton className="me">
              <Icon name="account" />
              <span>{visible(me.username)}</span>
            </UnstyledButton>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<Icon name="account" size={16} />} onClick={() => go("/account")}>
              {t("account.title")}
            </Menu.Item>
            <Menu.Item
              component="a"
              href="/manual/"
              target="_blank"
              leftSection={<Icon name="manual" size={16} />}
            >
              {t("shell.manual")}
            </Menu.Item>
            <Menu.Item
              component="a"
              href="/docs"
              target="_blank"
              leftSection={<Icon name="audit" size={16} />}
            >
              {t("shell.apiReference")}
            </Menu.Item>
            <Menu.Item leftSection={<Icon name="keyboard" size={16} />} onClick={onShortcuts}>
              {t("shell.shortcuts")}
            </Menu.Item>
            <Menu.Divider />
            <Menu.Item
              leftSection={<Icon name="out" size={16} />}
              onClick={() => leaving(() => void signOut())}
            >
              {t("shell.signOut")}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
        <Tooltip label={label}>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={label}
            onClick={() => setColorScheme(isDark ? "light" : "dark")}
          >
            <Icon name={isDark ? "sun" : "moon"} />
          </ActionIcon>
        </Tooltip>
      </div>
    </div>
  );
}
