/** The name of a worker of an instance, at the broker and among the instances that announce their users. */
export function workerName(instance: string, worker: number): string {
  return `${instance}.w${worker}`;
}

/** The name of the instance; one that is no worker's name is returned unchanged. */
export function instanceOfWorker(name: string): string {
  return name.replace(/\.w\d+$/, "");
}
