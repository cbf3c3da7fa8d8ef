import type { ConnectionsReport } from "../model/gateway/connections-report.ts";
import type { ClusterAnswers } from "./cluster-questions.ts";
import type { Connections } from "./connection/connections.ts";
import { connectionsOfUser } from "./connection/reported-connection.ts";
import { type PushCounters, publishedOf } from "./message/counters.ts";

/** The parts of a gateway that a report is about. */
export interface ReportedGateway {
  connections: Connections;
  sendBuffers: { bufferedBytes: number; lagging: number };
  admission: { maxConnections: number; pending: number };
  drain: { isDraining: boolean };
  node: string;
  counters: PushCounters;
  isCluster: boolean;
  wallTimeOf(steadyMs: number): number;
}

const maxChannelsListed = 1000;
/** Limits of what one process says to the others: an answer is a record of the log. */
const maxChannelsAnswered = 100;
const maxConnectionsAnsweredBytes = 200_000;

/** `GET /feign/connections`: counts by kind, channels and buffers; with `?userId=` also the connections of that user. */
export function connectionsReport(gateway: ReportedGateway, userId: string | null): ConnectionsReport {
  const { connections, sendBuffers, admission, drain, node } = gateway;
  return {
    node,
    total: connections.size,
    normal: connections.normal,
    temporary: connections.temporary,
    console: connections.console,
    users: connections.users,
    published: publishedOf(gateway.counters),
    isCluster: gateway.isCluster,
    maxConnections: admission.maxConnections,
    verifying: admission.pending,
    isDraining: drain.isDraining,
    buffers: { bufferedBytes: sendBuffers.bufferedBytes, lagging: sendBuffers.lagging },
    channelCount: connections.channels.size,
    channels: largestChannels(connections.channels, maxChannelsListed),
    ...(userId === null ? {} : { connections: connectionsOfUser(gateway, userId) }),
  };
}

/** The reports of all workers as one. `names` counts what several workers have in common. */
export function mergedReport(
  reports: readonly ConnectionsReport[],
  instance: { node: string; maxConnections: number },
  names: { users: number; channels: number; published: number },
): ConnectionsReport {
  const sum = (read: (report: ConnectionsReport) => number) =>
    reports.reduce((total, report) => total + read(report), 0);
  const members = new Map<string, number>();
  for (const { name, members: count } of reports.flatMap(({ channels }) => channels))
    members.set(name, (members.get(name) ?? 0) + count);
  const asksForUser = reports.some(({ connections }) => connections !== undefined);
  return {
    node: instance.node,
    total: sum(({ total }) => total),
    normal: sum(({ normal }) => normal),
    temporary: sum(({ temporary }) => temporary),
    console: sum(({ console: own }) => own),
    users: names.users,
    // Every worker distributes every message; a new one has counted fewer.
    published: Math.max(names.published, ...reports.map(({ published }) => published)),
    isCluster: reports.some(({ isCluster }) => isCluster),
    maxConnections: instance.maxConnections,
    verifying: sum(({ verifying }) => verifying),
    isDraining: reports.some(({ isDraining }) => isDraining),
    buffers: {
      bufferedBytes: sum(({ buffers }) => buffers.bufferedBytes),
      lagging: sum(({ buffers }) => buffers.lagging),
    },
    channelCount: names.channels,
    channels: largestChannels(members, maxChannelsListed),
    ...(asksForUser ? { connections: reports.flatMap(({ connections }) => connections ?? []) } : {}),
  };
}

/** The report of this process in answer to a question to the cluster. */
export function answeredReport(gateway: ReportedGateway, userId: string | null) {
  const report = connectionsReport(gateway, userId);
  const channels = report.channels.slice(0, maxChannelsAnswered);
  if (report.connections === undefined) return { ...report, channels };
  let bytes = 0;
  const connections = report.connections.filter((connection) => {
    bytes += Buffer.byteLength(JSON.stringify(connection));
    return bytes <= maxConnectionsAnsweredBytes;
  });
  return { ...report, channels, connections };
}

/** The reports of all processes of the cluster as one. `users` counts those with a normal connection. */
export function clusterReport({ answers, missing }: ClusterAnswers, users: number) {
  const reports = answers.map(({ instance, answer }) => {
    const report = answer as ConnectionsReport;
    const connections = report.connections?.map((connection) => ({ ...connection, instance }));
    return { ...report, node: instance, ...(connections && { connections }) };
  });
  const { node: _, ...merged } = mergedReport(
    reports,
    { node: "", maxConnections: reports.reduce((sum, { maxConnections }) => sum + maxConnections, 0) },
    {
      users,
      channels: new Set(reports.flatMap(({ channels }) => channels.map(({ name }) => name))).size,
      published: 0,
    },
  );
  const instances = Map.groupBy(reports, ({ node }) => node);
  return {
    ...merged,
    instances: [...instances].map(([instance, of]) => ({
      instance,
      total: of.reduce((sum, { total }) => sum + total, 0),
      normal: of.reduce((sum, { normal }) => sum + normal, 0),
      temporary: of.reduce((sum, { temporary }) => sum + temporary, 0),
    })),
    missing,
  };
}

/**
 * The channels with most members; among equals at the end of the list, the oldest. Consoles call this every two seconds,
 * and sorting 100,000 channels would delay every socket, so only the listed ones are sorted.
 */
export function largestChannels(membersOf: ReadonlyMap<string, number>, limit: number) {
  const channelsOfSize = new Map<number, number>();
  for (const members of membersOf.values())
    channelsOfSize.set(members, (channelsOfSize.get(members) ?? 0) + 1);
  /** The smallest listed size, of which not all channels are listed; 0: all channels are listed. */
  let least = 0;
  let roomForLeast = limit;
  for (const [members, channels] of [...channelsOfSize].sort(([left], [right]) => right - left)) {
    if (channels >= roomForLeast) {
      least = members;
      break;
    }
    roomForLeast -= channels;
  }
  const listed: ConnectionsReport["channels"] = [];
  for (const [name, members] of membersOf)
    if (members > least || (members === least && roomForLeast-- > 0)) listed.push({ name, members });
  return listed.sort((left, right) => right.members - left.members || (left.name < right.name ? -1 : 1));
}
