import { newReason } from "../../reason/reason.ts";
import { type Pipeline, servicesOf, stepsOf } from "../pipeline.ts";
import type { FieldFault } from "../service/service.ts";
import { stageNames } from "../stage/stage-name.ts";

/** What a pipeline says though no file can: the server does not rely on the runner that has read it. */
export function outsideFile(pipeline: Pipeline): FieldFault[] {
  const ofSteps = stageNames.flatMap((stage) =>
    stepsOf(pipeline, stage).flatMap(({ host, network }, index) => [
      ...(host ? [{ path: [stage, index, "host"], message: newReason("file_host") }] : []),
      ...(network === "none"
        ? [{ path: [stage, index, "network"], message: newReason("file_network") }]
        : []),
    ]),
  );
  const ofServices = servicesOf(pipeline).flatMap(({ name, switchOnHost, network, port }) => [
    ...(switchOnHost ? [{ path: ["start", name, "switchOnHost"], message: newReason("file_host") }] : []),
    ...(network === "none" ? [{ path: ["start", name, "network"], message: newReason("file_network") }] : []),
    ...(typeof port === "number" ? [{ path: ["start", name, "port"], message: newReason("file_port") }] : []),
  ]);
  return [...ofSteps, ...ofServices];
}
