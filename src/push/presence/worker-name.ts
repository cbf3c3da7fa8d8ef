/** The name of a worker of an instance, at the broker and among the instances that announce their users. */
export function workerName(instance: string, worker: number): string {
  return `${instance}.w${worker}`;
}

/** The instance of a worker; any other name is returned unchanged. */
export function instanceOfWorker(name: string): string {
  return name.replace(/\.w\d+$/, "");
}
