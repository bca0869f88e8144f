/** Refusals as exceptions: the status, and what its `google.rpc` details say. */

import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";

import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";

const DOMAIN = "motherlode";

// The answer was lost, or the service is busy or starting. Canceled, Unknown and Internal are what a connection that breaks in the middle of
// an answer can look like from this side; where the service itself says them, it names a reason.
const LOST: ReadonlySet<Code> = new Set([Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Unknown, Code.Internal]);
// Said before the request id is looked at: it tells nothing about an earlier attempt whose answer was lost.
const AT_THE_DOOR: ReadonlySet<Code> = new Set([Code.Unauthenticated, Code.PermissionDenied, Code.ResourceExhausted]);

/** A call had no good answer. `requestId` is the one that was sent, empty where the call has none. */
export class MotherlodeError extends Error {
  readonly requestId: string;

  constructor(message: string, requestId = "", cause?: unknown) {
    super(message, { cause });
    this.name = new.target.name;
    this.requestId = requestId;
  }
}

/** The parts of a refusal; see `Refused`. */
export interface Refusal {
  readonly code: Code;
  readonly text: string;
  readonly reason?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly fields?: Readonly<Record<string, string>>;
  readonly retryAfterMs?: number | undefined;
}

/** The call was refused, and this request has changed nothing. */
export class Refused extends MotherlodeError {
  readonly code: Code;
  /** The message of the status alone. */
  readonly text: string;
  /** The ErrorInfo's, in UPPER_SNAKE; empty where the service itself did not answer. */
  readonly reason: string;
  /** What goes with the reason. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The fields at fault, and what is wrong with each. */
  readonly fields: Readonly<Record<string, string>>;
  /** How long to wait where asking again can help (RetryInfo). */
  readonly retryAfterMs: number | undefined;

  constructor(refusal: Refusal, requestId = "", cause?: unknown) {
    super(`${refusal.reason || Code[refusal.code]}: ${refusal.text}`, requestId, cause);
    this.code = refusal.code;
    this.text = refusal.text;
    this.reason = refusal.reason ?? "";
    this.metadata = refusal.metadata ?? {};
    this.fields = refusal.fields ?? {};
    this.retryAfterMs = refusal.retryAfterMs;
  }

  /** Whether it may stand for an answer that was lost on the way. */
  get isLost(): boolean {
    return LOST.has(this.code);
  }

  /** Whether it leaves open what became of an earlier attempt. */
  get leavesOpen(): boolean {
    return this.isLost || AT_THE_DOOR.has(this.code);
  }

  /** Whether the same request can have another answer later. */
  get mayPass(): boolean {
    if (this.retryAfterMs !== undefined) {
      return true;
    }
    // One that names its reason and no time has decided, but for these: they say that the answer isn't known.
    if (this.code === Code.Unavailable || this.code === Code.DeadlineExceeded) {
      return true;
    }
    return this.isLost && this.reason === "";
  }
}

/** A field is malformed, or a stake not offered. */
export class InvalidArgument extends Refused {}

/** An account, a round or a game is unknown, or another operator's. */
export class NotFound extends Refused {}

/** What the request makes is there already. */
export class AlreadyExists extends Refused {}

/** The request id was used for another content (REQUEST_ID_REUSED). */
export class Conflict extends AlreadyExists {}

/** It isn't possible as things stand. */
export class FailedPrecondition extends Refused {}

/** The balance is below the bet or the withdrawal (INSUFFICIENT_FUNDS). */
export class InsufficientFunds extends FailedPrecondition {}

/** The credential lacks the role. */
export class PermissionDenied extends Refused {}

/** The token is missing, unknown or expired. */
export class Unauthenticated extends Refused {}

/** A limit of the operator's is reached. */
export class ResourceExhausted extends Refused {}

/** There was no answer in time to a call that changes nothing, or none that the service made. */
export class Unavailable extends Refused {}

/**
 * The deadline is over, and whether the request was applied is not known.
 *
 * Send it again with the same `requestId`, or look it up by `getRequest`, or end it for good by `cancelRequest`. `cause` is the last refusal.
 */
export class OutcomeUnknown extends MotherlodeError {}

const BY_REASON: Readonly<Record<string, typeof Refused>> = { REQUEST_ID_REUSED: Conflict, INSUFFICIENT_FUNDS: InsufficientFunds };
const BY_CODE: Readonly<Partial<Record<Code, typeof Refused>>> = {
  [Code.InvalidArgument]: InvalidArgument,
  [Code.NotFound]: NotFound,
  [Code.AlreadyExists]: AlreadyExists,
  [Code.FailedPrecondition]: FailedPrecondition,
  [Code.PermissionDenied]: PermissionDenied,
  [Code.Unauthenticated]: Unauthenticated,
  [Code.ResourceExhausted]: ResourceExhausted,
  [Code.Unavailable]: Unavailable,
  [Code.DeadlineExceeded]: Unavailable,
  [Code.Canceled]: Unavailable,
};

/** A refusal from Connect's own error, such as a stream throws. Details of other domains than Motherlode's leave the status alone. */
export function refusalOf(error: unknown, requestId = ""): Refused {
  const told = ConnectError.from(error);
  const info = told.findDetails(ErrorInfoSchema).find((detail) => detail.domain === DOMAIN);
  const [retry] = told.findDetails(RetryInfoSchema);
  const violations = told.findDetails(BadRequestSchema).flatMap((detail) => detail.fieldViolations);
  const refusal: Refusal = {
    code: codeOf(told),
    text: told.rawMessage,
    reason: info?.reason ?? "",
    metadata: info?.metadata ?? {},
    fields: Object.fromEntries(violations.map(({ field, description }) => [field, description])),
    retryAfterMs: retry && Math.max(0, retry.retryDelay ? durationMs(retry.retryDelay) : 0),
  };
  const kind = (info && BY_REASON[info.reason]) ?? BY_CODE[refusal.code] ?? Refused;
  return new kind(refusal, requestId, error);
}

/** The status's code; where there was none, what Connect made of a broken connection or answer says nothing of the request. */
function codeOf(error: ConnectError): Code {
  return LOST.has(error.code) || error.metadata.has("grpc-status") ? error.code : Code.Unavailable;
}
