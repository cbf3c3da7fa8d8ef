import type { NormalizedEvent, RefChange } from "./delivery.ts";

type Json<T extends { skip: unknown }> = Omit<T, "skip"> & { nothing: T["skip"] };

/** An event in records and API responses. They call `skip` `nothing`, which existing records and clients rely on. */
export type EventJson = Json<Omit<NormalizedEvent, "otherRefs">> & { otherRefs?: Json<RefChange>[] };

export function eventJson({ otherRefs, ...event }: NormalizedEvent): EventJson {
  return { ...toJson(event), ...(otherRefs && { otherRefs: otherRefs.map(toJson) }) };
}

export function eventFromJson({ otherRefs, ...event }: EventJson): NormalizedEvent {
  return { ...fromJson(event), ...(otherRefs && { otherRefs: otherRefs.map(fromJson) }) };
}

function toJson<T extends { skip: unknown }>({ skip, ...rest }: T): Json<T> {
  return { ...rest, nothing: skip };
}

function fromJson<T extends { nothing: unknown }>({ nothing, ...rest }: T) {
  return { ...rest, skip: nothing as T["nothing"] };
}
