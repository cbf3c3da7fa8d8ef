import { messageOf } from "../../errors.ts";
import type { NewOutgoingCall } from "../../model/outgoing-call.ts";
import { ForbiddenAddress, type GuardedRequest } from "./guarded-request.ts";
import { TokenWithheld } from "./outgoing-proof.ts";

/** Why a call was not taken. */
export interface AttemptFault {
  text: string;
  /** Trying again would not change it. */
  isFinal: boolean;
}

export interface AttemptOptions {
  /** Headers of one try, with the proof that it is ours. */
  headersOf(call: NewOutgoingCall): Promise<Record<string, string>>;
  post(request: GuardedRequest): Promise<number>;
}

/** Makes a call once; null when it was taken. */
export async function attemptCall(
  call: NewOutgoingCall,
  { headersOf, post }: AttemptOptions,
): Promise<AttemptFault | null> {
  try {
    const status = await post({ url: call.url, headers: await headersOf(call), body: call.body });
    if (status >= 200 && status < 300) return null;
    return { text: `status ${status}`, isFinal: isFinal(status) };
  } catch (error) {
    return {
      text: messageOf(error),
      isFinal: error instanceof ForbiddenAddress || error instanceof TokenWithheld,
    };
  }
}

/** A client error will be the same next time, but for "later" and "too many". */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);
}
