import { join } from "node:path";
import { temporaryFolder } from "./temporary-folder.ts";

export interface Certificate {
  certificate: string;
  key: string;
}

/** A self-signed certificate for localhost, made for this run. */
export async function makeCertificate(): Promise<Certificate> {
  const folder = temporaryFolder("certificate");
  const child = Bun.spawn(
    [
      ...["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
      ...["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
      ...["-keyout", "key.pem", "-out", "certificate.pem"],
    ],
    { cwd: folder, stdout: "ignore", stderr: "pipe" },
  );
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
  return {
    certificate: await Bun.file(join(folder, "certificate.pem")).text(),
    key: await Bun.file(join(folder, "key.pem")).text(),
  };
}
