import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { hasDocker, inDocker } from "./docker.ts";
import { freePort } from "./free-port.ts";
import { installPackages, progress, run, ServiceUnavailable, serviceCache } from "./service-install.ts";
import { answers, launch, type RunningService, serviceFolder } from "./service-process.ts";

const version = "4.1.0";
const wayToGetIt =
  "Apache Kafka needs Java 17 and Maven (packages `default-jre-headless` and `maven`), or Docker; or set SLIPWAY_TEST_KAFKA_URL.";

/** ApiVersions, version 0: the broker answers it only when it is fully started. */
export const apiVersionsRequest = new Uint8Array([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff]);

/** A second listener: TLS, and a user with PLAIN and SCRAM who has no permission. Without it everybody may do everything. */
export interface SecureListener {
  port: number;
  certificate: string;
  key: string;
  user: string;
  password: string;
}

/** A Kafka broker for tests: one node that is also the controller. */
export async function startKafka(secure?: SecureListener): Promise<RunningService> {
  const port = freePort();
  const url = `kafka://127.0.0.1:${port}`;
  const isReady = () => answers(port, apiVersionsRequest);
  const jars = await findJars();
  if (jars) return startJars(jars, port, url, isReady, secure);
  if (!(await hasDocker())) throw new ServiceUnavailable(wayToGetIt);
  const name = `slipway-kafka-${port}`;
  const settings = Object.entries(brokerSettings(port, freePort(), "/var/lib/kafka/data", "0.0.0.0"));
  return launch({
    name: "Apache Kafka",
    url,
    folder: serviceFolder("kafka"),
    isReady,
    ...inDocker({
      name,
      image: `apache/kafka:${version}`,
      options: ["-v", `${name}:/var/lib/kafka/data`, "-p", `127.0.0.1:${port}:${port}`].concat(
        settings.flatMap(([key, value]) => [
          "-e",
          `KAFKA_${key.toUpperCase().replaceAll(".", "_")}=${value}`,
        ]),
      ),
    }),
  });
}

/** The class path of the broker: Maven artifacts, downloaded once into the user's cache. */
export async function findJars(): Promise<string | undefined> {
  const cache = serviceCache();
  const jars = join(cache, `kafka-${version}`);
  if (existsSync(jars) && Bun.which("java")) return join(jars, "*");
  if (!Bun.which("java") || !Bun.which("mvn")) await installPackages("default-jre-headless", "maven");
  if (!Bun.which("java") || !Bun.which("mvn")) return undefined;
  if (existsSync(jars)) return join(jars, "*");
  mkdirSync(cache, { recursive: true });
  // Downloaded to a temporary name and renamed, so that an interrupted download is not used.
  const folder = mkdtempSync(join(cache, "kafka-download-"));
  progress(`fetching Apache Kafka ${version} with Maven (45 MB, once)`);
  await Bun.write(join(folder, "pom.xml"), pom);
  const isFetched = await run(
    ["mvn", "-B", "-q", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=jars"],
    { cwd: folder },
  );
  if (isFetched && !existsSync(jars)) renameSync(join(folder, "jars"), jars);
  rmSync(folder, { recursive: true, force: true });
  return isFetched ? join(jars, "*") : undefined;
}

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>slipway</groupId>
  <artifactId>test-kafka</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>${version}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
`;

async function startJars(
  classPath: string,
  port: number,
  url: string,
  isReady: () => Promise<boolean>,
  secure: SecureListener | undefined,
): Promise<RunningService> {
  const folder = serviceFolder("kafka");
  const plain = brokerSettings(port, freePort(), join(folder, "data"), "127.0.0.1");
  const settings = secure ? { ...plain, ...secureSettings(plain, secure) } : plain;
  const file = join(folder, "server.properties");
  await Bun.write(
    file,
    Object.entries(settings)
      .map(([key, value]) => `${key}=${value}\n`)
      .join(""),
  );
  const java = javaCommand(classPath);
  const users = secure
    ? ["256", "512"].flatMap((bits) => [
        "--add-scram",
        `SCRAM-SHA-${bits}=[name=${secure.user},password=${secure.password}]`,
      ])
    : [];
  const format = ["kafka.tools.StorageTool", "format", "-t", clusterId, "-c", file, ...users];
  const isFormatted = await run([...java, ...format]);
  if (!isFormatted) throw new ServiceUnavailable("Kafka's storage could not be formatted; see above.");
  return launch({ name: "Apache Kafka", url, folder, command: [...java, "kafka.Kafka", file], isReady });
}

export const clusterId = "c2xpcHdheS10ZXN0LWthZg";

export function javaCommand(classPath: string): string[] {
  return [
    "java",
    "-Xms128m",
    "-Xmx512m",
    // Small and quick to start, because it runs for some minutes only.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-cp",
    classPath,
  ];
}

function brokerSettings(
  port: number,
  controllerPort: number,
  dataFolder: string,
  host: string,
): Record<string, string> {
  return {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": `1@127.0.0.1:${controllerPort}`,
    listeners: `BROKER://${host}:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    "advertised.listeners": `BROKER://127.0.0.1:${port}`,
    "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "BROKER",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": dataFolder,
    "num.partitions": "3",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    // A broker that was killed may register again only when its last session is over.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "1000",
  };
}

function secureSettings(
  plain: Record<string, string>,
  { port, certificate, key, user, password }: SecureListener,
): Record<string, string> {
  const modules = "org.apache.kafka.common.security";
  const scram = `${modules}.scram.ScramLoginModule required;`;
  return {
    listeners: `${plain.listeners},SECURE://127.0.0.1:${port}`,
    "advertised.listeners": `${plain["advertised.listeners"]},SECURE://localhost:${port}`,
    "listener.security.protocol.map": `${plain["listener.security.protocol.map"]},SECURE:SASL_SSL`,
    "listener.name.secure.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.secure.plain.sasl.jaas.config": `${modules}.plain.PlainLoginModule required user_${user}="${password}";`,
    "listener.name.secure.scram-sha-256.sasl.jaas.config": scram,
    "listener.name.secure.scram-sha-512.sasl.jaas.config": scram,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "listener.name.secure.ssl.keystore.type": "PEM",
    "listener.name.secure.ssl.keystore.certificate.chain": certificate.trim().replaceAll("\n", "\\n"),
    "listener.name.secure.ssl.keystore.key": key.trim().replaceAll("\n", "\\n"),
  };
}
