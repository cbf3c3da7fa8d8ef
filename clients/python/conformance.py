"""The adapter of the Python client for the conformance cases: see docs/clients.md."""

import asyncio
import json
import re
import sys
import urllib.request
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "src"))

from slipway_push import FileSessionStore, SlipwayPush, Status  # noqa: E402


def fetch_code(url):
    with urllib.request.urlopen(urllib.request.Request(url, method="POST")) as answer:
        return None if answer.status == 204 else answer.read().decode()


def write(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def camel(name):
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


async def write_events(push):
    while True:
        async for event in push:
            fields = {camel(name): value for name, value in asdict(event).items()}
            if isinstance(event, Status):
                fields["delayMs"] = None if event.delay is None else event.delay * 1000
            write({"Opened": "open"}.get(type(event).__name__, type(event).__name__.lower()), **fields)


async def obey(push, line):
    command = json.loads(line)
    if "send" in command:
        write("sent", sent=push.send(command["send"]))
        return
    if "join" in command:
        push.join(command["join"])
    if "leave" in command:
        push.leave(command["leave"])
    if "close" in command:
        await push.close()
    write("done")


async def main():
    options = json.loads(sys.argv[1])
    names = ["minDelay", "maxDelay", "connectTimeout", "heartbeatInterval", "heartbeatTimeout", "upgradeRetry"]
    seconds = {
        re.sub(r"([A-Z])", lambda match: "_" + match[1].lower(), name): options[f"{name}Ms"] / 1000
        for name in names
        if f"{name}Ms" in options
    }
    loop = asyncio.get_running_loop()
    push = SlipwayPush(
        options["url"],
        lambda: loop.run_in_executor(None, fetch_code, options["codeUrl"]),
        channels=options.get("channels", []),
        temporary=options.get("temporary", False),
        resume_key=options.get("resumeKey"),
        session_store=FileSessionStore(options["stateFolder"]),
        **seconds,
    )
    push.open()
    writing = asyncio.ensure_future(write_events(push))
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        await obey(push, line)
    await push.close()
    writing.cancel()


asyncio.run(main())
