import { useEffect, useRef, useState } from "react";
import { type PushMessage, type PushProblem, SlipwayPush } from "../../../client/slipway-push.ts";
import { answerOf, api } from "../../api.ts";
import { connectionReason } from "../../connection-reason.ts";
import { t } from "../../text/text.ts";

const kept = 200;

interface Entry {
  /** Counts up; the newest stands first. */
  key: number;
  at: number;
  text: string;
  isNote: boolean;
}

export type TestedConnection = ReturnType<typeof useTestConnection>;

/** A connection of the push pages, as an application would open it. It stays open while one changes between their tabs. */
export function useTestConnection() {
  const push = useRef<SlipwayPush | null>(null);
  const [state, setState] = useState("closed");
  const [userId, setUserId] = useState("");
  const [channel, setChannel] = useState("");
  const [entries, setEntries] = useState<Entry[]>([]);
  useEffect(() => () => push.current?.close(), []);

  const write = (text: string, isNote: boolean) =>
    setEntries((before) =>
      [{ key: (before[0]?.key ?? 0) + 1, at: Date.now(), text, isNote }, ...before].slice(0, kept),
    );
  const connect = () => {
    const made = new SlipwayPush({
      url: `${location.origin}/ws`,
      channels: channel === "" ? [] : [channel],
      code: async () =>
        (await answerOf(api.push.codes.$post({ json: userId === "" ? {} : { userId } }))).code,
    });
    made.on("status", (status) => {
      setState(status.state);
      if (status.state === "waiting" || status.state === "closed") write(connectionReason(status), true);
    });
    made.on("open", (opened) =>
      write(t("push.connectedAs", { userId: opened.userId, connectionId: opened.connectionId }), true),
    );
    made.on("problem", (problem) => write(problemText(problem), true));
    made.on("message", (message) => write(textOf(message), false));
    push.current = made;
    made.open();
  };
  return {
    isClosed: state === "closed",
    userId,
    setUserId,
    channel,
    setChannel,
    entries,
    connect,
    disconnect: () => push.current?.close(),
  };
}

const channelProblems = ["channel_invalid", "channel_not_allowed", "too_many_channels"] as const;

function problemText({ code, message }: PushProblem): string {
  const known = channelProblems.find((each) => each === code);
  return known === undefined ? message : t(`push.${known}`);
}

function textOf({ targetType, target, data }: PushMessage): string {
  return `${target === "" ? targetType : `${targetType} ${target}`}: ${data}`;
}
