/** The page of the tests of the React hook: components share one client, and one of them can be removed. */
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { usePush } from "../../client/react.ts";
import { SlipwayPush } from "../../client/slipway-push.ts";

const push = new SlipwayPush({
  url: new URLSearchParams(location.search).get("gateway") ?? "",
  code: () => "code",
});

function Status() {
  const { state } = usePush(push, { channels: ["news"] });
  return <p id="state">{state}</p>;
}

function Messages({ room }: { room: string }) {
  const [texts, setTexts] = useState<string[]>([]);
  usePush(push, {
    channels: ["news", room],
    onMessage: ({ data }) => setTexts((before) => [...before, `${room}: ${data}`]),
  });
  return <p id="messages">{texts.join(", ")}</p>;
}

/** Has no channels: it gets what is addressed to everybody or to the user. */
function Direct() {
  const [texts, setTexts] = useState<string[]>([]);
  usePush(push, { onMessage: ({ data }) => setTexts((before) => [...before, data]) });
  return <p id="direct">{texts.join(", ")}</p>;
}

function App() {
  const [room, setRoom] = useState<string | null>("room-1");
  const [isShown, setShown] = useState(true);
  return (
    <>
      {isShown && <Status />}
      {isShown && <Direct />}
      {room !== null && <Messages room={room} />}
      <button type="button" id="other" onClick={() => setRoom("room-2")} />
      <button type="button" id="leave" onClick={() => setRoom(null)} />
      <button type="button" id="end" onClick={() => setShown(false)} />
    </>
  );
}

const element = document.getElementById("root");
if (element)
  createRoot(element).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
