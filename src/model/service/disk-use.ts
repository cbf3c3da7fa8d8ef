import { z } from "zod";
import { newReason, type Reason } from "../../reason/reason.ts";

const mebibyte = 1024 ** 2;

/** A size for people, in the unit of the limits; never less than it is. */
export function megabytes(bytes: number): string {
  return `${Math.ceil((bytes / mebibyte) * 10) / 10} MB`;
}

const bytes = z.number().int().min(0);

/** What a project takes on the disk of its runner, as the runner measures it; `quotaBytes`: the runner's own limit, null: none. */
export const diskUse = z.object({
  releasesBytes: bytes,
  dataBytes: bytes,
  quotaBytes: z.number().int().min(1).nullable(),
});
export type DiskUse = z.infer<typeof diskUse>;

/** From this share of the limit on, people are warned. */
const warnedShare = 0.8;

export const limitBytesOf = (diskMb: number | null) => (diskMb === null ? null : diskMb * mebibyte);

/** The smaller one counts; null: there is no limit. */
export function smallerLimit(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

interface Measured {
  diskMb: number | null;
  disk: DiskUse | null;
}

export function diskLimitOf({ diskMb, disk }: Measured): number | null {
  return smallerLimit(limitBytesOf(diskMb), disk?.quotaBytes ?? null);
}

export function diskWarnings(project: Measured): Reason[] {
  const { disk } = project;
  const limit = diskLimitOf(project);
  if (disk === null || limit === null) return [];
  const share = (disk.releasesBytes + disk.dataBytes) / limit;
  if (share < warnedShare) return [];
  return [
    newReason("warn_disk", {
      releases: megabytes(disk.releasesBytes),
      data: megabytes(disk.dataBytes),
      percent: Math.floor(share * 100),
      limit: megabytes(limit),
    }),
  ];
}
