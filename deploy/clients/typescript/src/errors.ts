/** Exceptions for refused calls, with `google.rpc` details. */

import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";

import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";

const DOMAIN = "motherlode";

// Statuses that can mean a lost answer. A connection that breaks during an answer can appear as Canceled, Unknown
// or Internal. If the service itself returns one of these statuses, the error has a reason.
const LOST: ReadonlySet<Code> = new Set([Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Unknown, Code.Internal]);
// Statuses that the service returns before it checks the request id, so an earlier attempt may have been applied.
const AT_THE_DOOR: ReadonlySet<Code> = new Set([Code.Unauthenticated, Code.PermissionDenied, Code.ResourceExhausted]);

/** `requestId` is empty for calls without a request id. */
export class MotherlodeError extends Error {
  readonly requestId: string;

  constructor(message: string, requestId = "", cause?: unknown) {
    super(message, { cause });
    this.name = new.target.name;
    this.requestId = requestId;
  }
}

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
  readonly text: string;
  /** ErrorInfo's reason; empty if the service itself did not answer. */
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Maps each invalid field's name to its fault. */
  readonly fields: Readonly<Record<string, string>>;
  /** Delay before a retry; undefined if the service gave none. */
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

  get isLost(): boolean {
    return LOST.has(this.code);
  }

  /** Whether an attempt may have been applied despite this refusal. */
  get leavesOpen(): boolean {
    return this.isLost || AT_THE_DOOR.has(this.code);
  }

  /** Whether a retry can get a different answer. */
  get mayPass(): boolean {
    if (this.retryAfterMs !== undefined) {
      return true;
    }
    // These statuses leave the outcome unknown, even if the service gives a reason.
    if (this.code === Code.Unavailable || this.code === Code.DeadlineExceeded) {
      return true;
    }
    return this.isLost && this.reason === "";
  }
}

/** Thrown if a field is malformed, or the game does not offer the stake. */
export class InvalidArgument extends Refused {}

/** Thrown if an account, round or game is unknown, or belongs to another operator. */
export class NotFound extends Refused {}

/** Thrown if the object to be created already exists. */
export class AlreadyExists extends Refused {}

/** Thrown if the request id was used for another request (REQUEST_ID_REUSED). */
export class Conflict extends AlreadyExists {}

/** Thrown if the object's current state does not allow the call. */
export class FailedPrecondition extends Refused {}

/** Thrown if the balance is below the bet or the withdrawal (INSUFFICIENT_FUNDS). */
export class InsufficientFunds extends FailedPrecondition {}

/** Thrown if the credential lacks the role that the call requires. */
export class PermissionDenied extends Refused {}

/** Thrown if the token is missing, unknown or expired. */
export class Unauthenticated extends Refused {}

/** Thrown if the operator has reached one of its limits. */
export class ResourceExhausted extends Refused {}

/** Thrown if a read-only call got no answer from the service in time. */
export class Unavailable extends Refused {}

/** Thrown if the call was never sent, because no connection could be opened or the client is closed. */
export class NotSent extends Unavailable {
  override get isLost(): boolean {
    return false;
  }

  override get leavesOpen(): boolean {
    return true;
  }
}

/**
 * Thrown if retries have ended, and the request may have been applied.
 *
 * To learn the outcome, repeat the request with the same `requestId`, or call `getRequest`.
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

/** Converts a Connect error (for example, the error of a stream) to a refusal. */
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

/**
 * Returns the status code that the server sent. If the server sent none, returns Unavailable, because Connect's
 * code describes only the connection.
 */
function codeOf(error: ConnectError): Code {
  return LOST.has(error.code) || error.metadata.has("grpc-status") ? error.code : Code.Unavailable;
}
