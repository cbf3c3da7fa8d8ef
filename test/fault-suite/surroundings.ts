import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startVerifyService } from "../support/verify-service.ts";
import { type NotificationReceiver, receiveNotifications } from "./load/notification-receiver.ts";
import { Link } from "./setups/link.ts";
import { commandOf } from "./setups/slipway-process.ts";
import type { Timeline } from "./timeline.ts";

/** The environment of the product: the application that verifies codes, the receiver of notifications, a folder. */
export interface Surroundings {
  program: string;
  folder: string;
  timeline: Timeline;
  receiver: NotificationReceiver;
  receiverLink: Link;
  verifyLink: Link;
  /** Whether the program has services, polls and approvals. */
  knowsReleases: boolean;
  /** Settings with which scripts see `scriptsFolder`. Its runners are root, and scripts run as another user. */
  runnerFlags(name: string): Record<string, string>;
  stop(): Promise<void>;
}

/** Where a runner works. */
export const runnerFolder = (folder: string, name: string) =>
  join(folder, `${name.replaceAll(" ", "-")}-work`);
/** What scripts and services write: their record, and the addresses and locks of services. */
export const scriptsFolder = (folder: string) => join(folder, "scripts");
export const recordFile = (folder: string) => join(scriptsFolder(folder), "scripts.record");

export async function surround(setup: string, program: string, timeline: Timeline): Promise<Surroundings> {
  const folder = mkdtempSync(join(tmpdir(), `slipway-faults-${setup}-`));
  const hasSandbox = printed(program, "config", "docs").includes("runner.sandboxPaths");
  mkdirSync(scriptsFolder(folder));
  writeFileSync(recordFile(folder), "");
  for (const path of [folder, scriptsFolder(folder), recordFile(folder)]) chmodSync(path, 0o777);
  const receiver = receiveNotifications();
  const verify = startVerifyService();
  const receiverLink = await Link.open("server → notification receiver", receiver.port);
  const verifyLink = await Link.open("gateway → verify service", Number(new URL(verify.url).port));
  return {
    program,
    folder,
    timeline,
    receiver,
    receiverLink,
    verifyLink,
    knowsReleases: printed(program, "service", "--help").includes("restart"),
    runnerFlags: (name) =>
      hasSandbox
        ? {
            "runner-dir": runnerFolder(folder, name),
            "runner-sandbox-paths": `${scriptsFolder(folder)}:rw`,
          }
        : {},
    async stop() {
      receiverLink.close();
      verifyLink.close();
      receiver.stop();
      await verify.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Asks the program itself: an earlier version refuses unknown settings and fields. */
function printed(program: string, ...command: string[]): string {
  return Bun.spawnSync([...commandOf(program), ...command]).stdout.toString();
}
