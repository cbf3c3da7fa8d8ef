import { useState } from "react";
import { createRoot } from "react-dom/client";
import { SlipwayPush } from "slipway-push";
import { usePush } from "slipway-push/react";

const user = new URLSearchParams(location.search).get("user") ?? "guest";

const push = new SlipwayPush({
  url: await (await fetch("/push-url")).text(),
  code: async () => (await fetch(`/push-code?user=${encodeURIComponent(user)}`, { method: "POST" })).text(),
  resumeKey: "example",
});

function Connection() {
  const [recovery, setRecovery] = useState("nothing to catch up");
  const { state, reason } = usePush(push, {
    onOpen({ reconnected, recovered }) {
      if (reconnected) setRecovery(recovered ? "caught up: nothing is missing" : "missed messages");
    },
  });
  return (
    <dl aria-live="polite">
      <dt>Connection</dt>
      <dd id="state">{state === "open" ? "connected" : `${state}: ${reason}`}</dd>
      <dt>Since the last connection</dt>
      <dd id="recovery">{recovery}</dd>
    </dl>
  );
}

function Messages() {
  const [messages, setMessages] = useState<{ id: string; data: string }[]>([]);
  usePush(push, { onMessage: (message) => setMessages((before) => [...before, message]) });
  return (
    <ol id="messages">
      {messages.map(({ id, data }) => (
        <li key={id}>{data}</li>
      ))}
    </ol>
  );
}

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <>
      <h1>Slipway push</h1>
      <Connection />
      <Messages />
    </>,
  );
