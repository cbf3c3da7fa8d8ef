import { dirname, join } from "node:path";
import { Glob } from "bun";
import { run } from "./service-install.ts";
import { serviceUrl } from "./services.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface PushClient {
  name: string;
  /** The command of its adapter; null if its language is not available. */
  adapter: string[] | null;
  abilities: string[];
}

const clients = join(import.meta.dir, "../../clients");

/** Every client of this repository, ready to run. */
export async function pushClients(): Promise<PushClient[]> {
  const python = await serviceUrl("python");
  const abilities = ["handshakeStatus", "eventStream", "resumeKey"];
  return [
    {
      name: "slipway-push on Bun",
      adapter: [process.execPath, join(clients, "conformance/js-adapter.ts")],
      abilities: ["eventStream", "resumeKey"],
    },
    {
      name: "Python",
      adapter: python === undefined ? null : [python, join(clients, "python/conformance.py")],
      abilities,
    },
    { name: "Java", adapter: await compiledJava(), abilities },
  ];
}

async function compiledJava(): Promise<string[] | null> {
  const javac = await serviceUrl("javac");
  if (javac === undefined) return null;
  const folder = join(clients, "java/src");
  const classes = temporaryFolder("java-client");
  const sources = [...new Glob("**/*.java").scanSync(folder)].map((path) => join(folder, path));
  const options = ["--release", "17", "-encoding", "UTF-8", "-Xlint:all", "-Werror", "-d", classes];
  if (!(await run([javac, ...options, ...sources]))) throw new Error("The Java client does not compile.");
  const java = join(dirname(javac), "java");
  return [java, "-XX:TieredStopAtLevel=1", "-cp", classes, "dev.slipway.push.Conformance"];
}
