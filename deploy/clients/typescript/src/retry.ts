/**
 * When a request is sent again, and after how long: one state for each logical request, without I/O.
 *
 * The same message is sent each time, under the same request id, so it has one effect however often it arrives (PL-11). It ends with an
 * answer, with a refusal that stands, or when its time or its tries are used up.
 */

import { clone, create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";

import { OutcomeUnknown, type Refused } from "./errors.js";

// They change nothing, or nothing more when they come twice, and have no request id.
const REPEATABLE = /^(Get|List|Read|CloseSession|AcknowledgeRealityCheck|RunSelfCheck)/;
// Their request id is another request's.
const LOOK_UP = /^(Get|List|CancelRequest)/;

/** A request id that nobody else makes. Store it before the request is sent, to find the request again after a crash. */
export function newRequestId(): string {
  return crypto.randomUUID();
}

/** The bounds of asking: milliseconds, and tries with the first one included. */
export interface Policy {
  readonly totalMs: number;
  readonly attemptMs: number;
  readonly attemptsMax: number;
  readonly firstWaitMs: number;
  readonly waitMsMax: number;
}

/** The policy where the caller says nothing else. */
export const POLICY: Policy = { totalMs: 30_000, attemptMs: 5_000, attemptsMax: 12, firstWaitMs: 50, waitMsMax: 2_000 };

// Timers and the protocol's deadlines have an end; this is well below it.
const DAY_MS = 86_400_000;

function isTime(ms: number): boolean {
  return ms > 0 && ms <= DAY_MS;
}

/** A policy with the caller's bounds in place of the usual ones. */
export function policyOf(given: Partial<Policy>): Policy {
  const policy = { ...POLICY, ...given };
  const { totalMs, attemptMs, attemptsMax, firstWaitMs, waitMsMax } = policy;
  if (![totalMs, attemptMs, firstWaitMs, waitMsMax].every(isTime) || !(attemptsMax >= 1)) {
    throw new RangeError("a policy's times are above 0 and at most a day, and there is a try");
  }
  return policy;
}

/** As much of a method as the rules look at. */
export interface Method<I extends DescMessage> {
  readonly name: string;
  readonly input: I;
}

/** One logical request: how long each attempt may take, and what follows from its refusal. */
export class Asking<I extends DescMessage> {
  readonly request: MessageShape<I>;
  readonly requestId: string;
  /** Whether an attempt may have been applied without an answer. */
  lost = false;

  readonly #method: Method<I>;
  readonly #policy: Policy;
  readonly #until: number;
  #attempts = 0;

  constructor(
    method: Method<I>,
    given: MessageInitShape<I>,
    policy: Policy = POLICY,
    timeoutMs: number = policy.totalMs,
    private readonly now: () => number = () => performance.now(),
    private readonly draw: (low: number, high: number) => number = (low, high) => low + Math.random() * (high - low),
  ) {
    if (!isTime(timeoutMs)) {
      throw new RangeError("timeoutMs is above 0 and at most a day");
    }
    this.#method = method;
    this.#policy = policy;
    this.#until = now() + timeoutMs;
    [this.request, this.requestId] = named(method, given);
  }

  /** How long the next attempt may take; it counts as made. */
  attemptMs(): number {
    this.#attempts += 1;
    // To Connect, 0 is no limit, and the protocol's unit is the whole millisecond.
    const left = Math.max(1, Math.ceil(this.#until - this.now()));
    // What can't be asked again has all the time at once.
    return this.#mayRepeat ? Math.min(Math.ceil(this.#policy.attemptMs), left) : left;
  }

  /** How long to wait before the request is sent again; throws what the caller gets where it isn't. */
  waitMs(refused: Refused): number {
    this.lost ||= refused.isLost;
    const backoff = Math.min(this.#policy.firstWaitMs * 2 ** (this.#attempts - 1), this.#policy.waitMsMax);
    // Full jitter, on top of what the service asks for: callers that were refused together don't come back together.
    const wait = (refused.retryAfterMs ?? 0) + this.draw(0, backoff);
    const late = this.now() + wait >= this.#until;
    if (late || this.#attempts >= this.#policy.attemptsMax || !this.#mayRepeat || !refused.mayPass) {
      this.giveUp(refused);
    }
    return wait;
  }

  /** Throws the refusal; or that the outcome is unknown, where an attempt may have been applied all the same. */
  giveUp(refused: Refused): never {
    if (this.#changes && this.lost && refused.leavesOpen) {
      throw new OutcomeUnknown(`${this.#method.name} has no known outcome: ${refused.message}`, this.requestId, refused);
    }
    throw refused;
  }

  get #changes(): boolean {
    return !REPEATABLE.test(this.#method.name);
  }

  get #mayRepeat(): boolean {
    return this.requestId !== "" || !this.#changes;
  }
}

/** A copy of the request, the same for all attempts, and its id, which is made here where the caller gave none. */
function named<I extends DescMessage>(method: Method<I>, given: MessageInitShape<I>): [MessageShape<I>, string] {
  const request = clone(method.input, create(method.input, given));
  const field = method.input.fields.find(({ name }) => name === "request_id");
  if (!field) {
    return [request, ""];
  }
  const message = reflect(method.input, request);
  if (message.get(field) === "" && !LOOK_UP.test(method.name)) {
    message.set(field, newRequestId());
  }
  return [request, String(message.get(field))];
}
