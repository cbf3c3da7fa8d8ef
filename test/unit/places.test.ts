import { expect, test } from "bun:test";
import { buildPlaces } from "../../src/runner/run/places.ts";

const never = new AbortController().signal;

test("as many tasks as there are places run, and the others follow in their order", async () => {
  const places = buildPlaces(2);
  const order: string[] = [];
  const take = async (name: string) => {
    const leave = await places.take(never, () => order.push(`${name} waits`));
    order.push(name);
    return leave;
  };
  const [a] = [await take("a"), await take("b")];
  const [c, d] = [take("c"), take("d")];
  a?.();
  (await c)?.();
  await d;
  expect(order).toEqual(["a", "b", "c waits", "d waits", "c", "d"]);
});

test("a task that is stopped while it waits takes no place, and keeps none from the next one", async () => {
  const places = buildPlaces(1);
  const leave = await places.take(never, () => {});
  const stop = new AbortController();
  const stopped = places.take(stop.signal, () => {});
  const next = places.take(never, () => {});
  leave?.();
  stop.abort();
  expect(await stopped).toBeNull();
  expect(await next).not.toBeNull();
});
