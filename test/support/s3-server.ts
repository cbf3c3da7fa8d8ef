import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { findGoModule } from "./go-module.ts";
import { answers, launch, serviceFolder } from "./service-process.ts";

const version = "v1.8.0";

/** The folder with versitygw, an S3 server that keeps objects in a folder. */
export function findS3Server(): Promise<string> {
  return findGoModule({
    ...{ title: `versitygw ${version}`, module: "github.com/versity/versitygw", version },
    ...{ program: "versitygw", folders: [], build: ["./cmd/versitygw"] },
    variable: "SLIPWAY_TEST_S3",
  });
}

/** An S3 server with one bucket. */
export async function startS3Server(programs: string) {
  const folder = serviceFolder("s3");
  const bucket = "transfers";
  mkdirSync(join(folder, "objects", bucket), { recursive: true });
  const port = freePort();
  const keys = { accessKeyId: "transfer-key", secretAccessKey: "transfer-secret" };
  const endpoint = `http://127.0.0.1:${port}`;
  const service = await launch({
    name: "versitygw",
    url: endpoint,
    folder,
    command: [
      join(programs, "versitygw"),
      ...["--access", keys.accessKeyId, "--secret", keys.secretAccessKey, "--port", `127.0.0.1:${port}`],
      ...["posix", join(folder, "objects")],
    ],
    isReady: () => answers(port, Buffer.from("GET / HTTP/1.1\r\nHost: s3\r\nConnection: close\r\n\r\n")),
  });
  /** The files of all objects. */
  const objects = () =>
    readdirSync(join(folder, "objects", bucket), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  return { ...keys, endpoint, bucket, region: "us-east-1", objects, stop: () => service.stop() };
}
