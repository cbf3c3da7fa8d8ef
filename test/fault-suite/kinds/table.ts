import { brokerFaults } from "./broker-faults.ts";
import { credentialFaults } from "./credential-faults.ts";
import { databaseFaults } from "./database-faults.ts";
import { doubleFaults } from "./double-faults.ts";
import { extraInstanceFaults } from "./extra-instance-faults.ts";
import type { FaultKind } from "./fault-kind.ts";
import { networkFaults } from "./network-faults.ts";
import { processFaults } from "./process-faults.ts";
import { resourceFaults } from "./resource-faults.ts";
import { serviceFaults } from "./service-faults.ts";
import { stepFaults } from "./step-faults.ts";

/** All kinds of faults of the suite. */
export const faultKinds: FaultKind[] = [
  ...processFaults,
  ...networkFaults,
  ...databaseFaults,
  ...brokerFaults,
  ...resourceFaults,
  ...credentialFaults,
  ...doubleFaults,
  ...extraInstanceFaults,
  ...stepFaults,
  ...serviceFaults,
];
