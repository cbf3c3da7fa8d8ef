import {
  ActionIcon,
  Burger,
  Drawer,
  Menu,
  Tooltip,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { type Me, signOut } from "../session.ts";
import { leaving } from "../unsaved.ts";
import { visible } from "../visible.ts";
import { Icon, type IconName } from "./icon.tsx";
import { IsolationNotice } from "./isolation-notice.tsx";
import { LiveState } from "./live-state.tsx";
import { Mark } from "./mark.tsx";
import { Progress } from "./progress.tsx";
import { UnsignedWebhooks } from "./unsigned-webhooks.tsx";
import { WaitingApprovals } from "./waiting-approvals.tsx";

interface Place {
  href: string;
  label: string;
  icon: IconName;
  isForAdmins?: boolean;
}

const places: { title: string; items: Place[] }[] = [
  {
    title: "Deploys",
    items: [
      { href: "/", label: "Overview", icon: "overview" },
      { href: "/projects", label: "Projects", icon: "projects" },
      { href: "/tasks", label: "Tasks", icon: "tasks" },
      { href: "/deliveries", label: "Deliveries", icon: "deliveries" },
    ],
  },
  { title: "Gateway", items: [{ href: "/push", label: "Push", icon: "push", isForAdmins: true }] },
  {
    title: "Installation",
    items: [
      { href: "/users", label: "Users", icon: "users", isForAdmins: true },
      { href: "/groups", label: "Groups", icon: "groups" },
      { href: "/runners", label: "Runners", icon: "runners", isForAdmins: true },
      { href: "/tokens", label: "Tokens", icon: "tokens" },
      { href: "/audit", label: "Audit", icon: "audit", isForAdmins: true },
    ],
  },
];

export function Shell({ me, children }: { me: Me; children: ReactNode }) {
  const [isNavOpen, { toggle, close }] = useDisclosure(false);
  return (
    <div className="shell">
      <a href="#main" className="skip">
        Skip to content
      </a>
      <Progress />
      <header className="top-bar">
        <Burger
          opened={isNavOpen}
          onClick={toggle}
          size="sm"
          aria-label={isNavOpen ? "Close the navigation" : "Open the navigation"}
        />
        <Brand />
        <LiveState />
      </header>
      <aside className="side">
        <Brand />
        <Navigation me={me} />
        <Foot me={me} />
      </aside>
      <Drawer opened={isNavOpen} onClose={close} size={260} title={<Brand />} zIndex={300}>
        <Navigation me={me} onGo={close} />
        <Foot me={me} />
      </Drawer>
      <main id="main" tabIndex={-1}>
        <UnsignedWebhooks />
        <WaitingApprovals />
        {me.role === "admin" && <IsolationNotice />}
        {children}
      </main>
    </div>
  );
}

function Brand() {
  return (
    <Link href="/" className="brand" aria-label="Slipway, overview">
      <Mark />
      <span>Slipway</span>
    </Link>
  );
}

function Navigation({ me, onGo }: { me: Me; onGo?: () => void }) {
  const [location] = useLocation();
  return (
    <nav aria-label="Main" className="nav">
      {places.map(({ title, items }) => {
        const shown = items.filter((place) => !place.isForAdmins || me.role === "admin");
        if (shown.length === 0) return null;
        return (
          <div key={title}>
            <div className="nav-title">{title}</div>
            {shown.map(({ href, label, icon }) => (
              <Link
                key={href}
                href={href}
                className="nav-item"
                onClick={() => onGo?.()}
                aria-current={isHere(location, href) ? "page" : undefined}
              >
                <Icon name={icon} />
                {label}
              </Link>
            ))}
          </div>
        );
      })}
    </nav>
  );
}

function isHere(location: string, href: string): boolean {
  return href === "/" ? location === "/" : location === href || location.startsWith(`${href}/`);
}

function Foot({ me }: { me: Me }) {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme("light") === "dark";
  const [, go] = useLocation();
  const label = isDark ? "Use the light scheme" : "Use the dark scheme";
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
            <Menu.Item leftSection={<Icon name="key" size={16} />} onClick={() => go("/account")}>
              Password and sessions
            </Menu.Item>
            <Menu.Item
              component="a"
              href="/docs"
              target="_blank"
              leftSection={<Icon name="audit" size={16} />}
            >
              API reference
            </Menu.Item>
            <Menu.Divider />
            <Menu.Item
              leftSection={<Icon name="out" size={16} />}
              onClick={() => leaving(() => void signOut())}
            >
              Sign out
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
