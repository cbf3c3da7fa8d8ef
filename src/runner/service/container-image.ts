import { Fault } from "../../errors.ts";
import { call, type EngineName, engineEnvironment } from "../process/container.ts";

const pullTimeoutMs = 30 * 60_000;

/** The id of an image, fetched if this machine lacks it: every start of the release runs the same one. */
export async function imageIdOf(
  { engine, image }: { engine: EngineName; image: string },
  { line, stop }: { line(text: string): void; stop: AbortSignal },
): Promise<string> {
  const inspect = [engine, "image", "inspect", "--format", "{{.Id}}", image];
  const known = await call(inspect);
  if (known.exitCode !== 0) {
    line(`fetching the image ${image}`);
    const child = Bun.spawn([engine, "pull", "--quiet", image], {
      env: engineEnvironment(process.env),
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
      signal: AbortSignal.any([stop, AbortSignal.timeout(pullTimeoutMs)]),
    });
    const problems = await new Response(child.stderr).text();
    if ((await child.exited) !== 0)
      throw new Fault("invalid", `the image ${image} could not be fetched: ${problems.trim().slice(-1000)}`);
  }
  const { exitCode, output } = known.exitCode === 0 ? known : await call(inspect);
  const id = output.trim().split("\n").at(-1) ?? "";
  if (exitCode !== 0 || id === "")
    throw new Fault("invalid", `the image ${image} is unknown: ${output.trim()}`);
  line(`the image ${image} is ${id}`);
  return id;
}

/** The process id of a container's first process; null: it does not run. */
export async function containerProcess(engine: EngineName, name: string): Promise<number | null> {
  const { exitCode, output } = await call([engine, "inspect", "--format", "{{.State.Pid}}", name]);
  const pid = Number(output.trim());
  return exitCode === 0 && pid > 0 ? pid : null;
}
