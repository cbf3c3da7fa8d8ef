import { ReasonError } from "../../errors.ts";

/** A step or a service that this runner cannot run as required. */
export class CannotRun extends ReasonError {
  override readonly name = "CannotRun";
}
