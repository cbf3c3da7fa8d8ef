import { mkdtempSync, rmSync } from "node:fs";
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
  /** Whether the program has releases, polls and approvals. */
  knowsReleases: boolean;
  stop(): Promise<void>;
}

export async function surround(setup: string, program: string, timeline: Timeline): Promise<Surroundings> {
  const folder = mkdtempSync(join(tmpdir(), `slipway-faults-${setup}-`));
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
    knowsReleases: knowsReleases(program),
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
function knowsReleases(program: string): boolean {
  const help = Bun.spawnSync([...commandOf(program), "task", "--help"]);
  return help.stdout.toString().includes("approve");
}
