import { isConsoleChannel } from "../src/model/console/console-names.ts";

interface Channel {
  name: string;
  members: number;
}

/** The channels of applications, apart from those over which the console follows projects. */
export function separated(channels: Channel[]): { own: Channel[]; ofConsole: Channel[] } {
  const { true: ofConsole = [], false: own = [] } = Object.groupBy(channels, ({ name }) =>
    isConsoleChannel(name) ? "true" : "false",
  );
  return { own, ofConsole };
}
