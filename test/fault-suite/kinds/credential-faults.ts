import { timePasses } from "../setups/part.ts";
import type { FaultKind } from "./fault-kind.ts";

const disabledRunner: FaultKind = {
  name: "disable-runner",
  about: "a runner is disabled and enabled again",
  targets: ({ runnerTokens }) => runnerTokens.map(({ part }) => part.name),
  async inject({ runnerTokens }, target, random) {
    const token = runnerTokens.find(({ part }) => part.name === target);
    await token?.setDisabled(true);
    await timePasses(random.between(1_000, 4_000));
    await token?.setDisabled(false);
  },
};

const revokedRunnerToken: FaultKind = {
  name: "revoke-runner-token",
  about: "a runner's token is reset while it works; later it is started with the new one",
  targets: ({ runnerTokens }) => runnerTokens.map(({ part }) => part.name),
  async inject({ runnerTokens, leaseMs }, target, random) {
    const token = runnerTokens.find(({ part }) => part.name === target);
    await token?.renew();
    await timePasses(random.between(1_000, leaseMs + 2_000));
    token?.part.signal("SIGKILL");
    await token?.part.ended(10_000);
    await token?.part.start();
  },
};

export const credentialFaults = [disabledRunner, revokedRunnerToken];
