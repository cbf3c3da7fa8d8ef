/** `broadcast` carries pushed messages, `control` carries actions on connections and presence. */
export type LogName = "broadcast" | "control";

/** A record as every instance reads it. */
export interface LogRecord {
  /** Rises from record to record, not always by one: Kafka uses offsets for transaction markers of other services. */
  offset: number;
  /** Tells the record from one that had the same offset in a log that was deleted and created again. */
  id: string;
  /** How long ago it was appended, as far as known. 0 for a record that was appended just now. */
  ageMs: number;
  /** Decoded JSON, or the text if it is not JSON: other services write to the log too. */
  value: unknown;
  /** Its process appended it before, and repeated it because the confirmation was lost. */
  isRepeat?: boolean;
}

/** Connections that each record of a batch affected here, in the order of the records; undefined: none. */
export type Receipts = readonly number[] | undefined;

export interface LogReader {
  /**
   * Receives records in order, those together that arrived together. The next batch waits until this one is handled, so
   * that slow handling slows reading down.
   */
  receive(records: LogRecord[]): Receipts | Promise<Receipts>;
  /** Called once: every record that was appended before reading began has been received. */
  caughtUp(): void;
  /** Records between the last one and the next may be missing, or the log was created again. Called before the next. */
  lost(): void;
}

/** What `/metrics` shows of a log. */
export interface LogFigures {
  /** Offset of the last record that was handled; -1: none. */
  offset: number;
  /** Records that the log has and this instance has not handled, as far as it knows. */
  lagRecords: number;
  /** Age of the oldest known record that is not handled. */
  lagSeconds: number;
  /** The oldest offset that can still be read, as far as known; -1: unknown. */
  oldestOffset: number;
  /** How long the last starting read took. */
  startingReadSeconds: number;
}

/**
 * One ordered log. Every instance reads every record in the same order, at the same offset.
 */
export interface Log {
  /**
   * Resolves when the record is stored as the settings promise, with the number of connections that it affected on this
   * instance, or null if this log does not count. Records of one process are stored in the order of the calls. Rejects
   * within 5 s with Fault "unavailable" (the record may have been stored), or with "too_large".
   */
  append(value: { id: string }): Promise<number | null>;
  /**
   * Passes the records of the last `windowMs` to the reader (the starting read), then every later one. Across lost
   * connections it continues where it stopped. Call once, before the bus is started.
   */
  read(windowMs: number, reader: LogReader): void;
  figures(): LogFigures;
}

/** A record without content. It gives a log without messages a recent offset, and shows that the log is readable. */
export interface MarkerRecord {
  v: number;
  id: string;
  type: "marker";
  /** Milliseconds since 1970. */
  ts: number;
}

export function isMarker(value: unknown): value is MarkerRecord {
  return typeof value === "object" && value !== null && "type" in value && value.type === "marker";
}
