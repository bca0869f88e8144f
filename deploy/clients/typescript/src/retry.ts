/** Retry rules without I/O. All attempts of a call share one request id and message, so the call has one effect (PL-11). */

import { clone, create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";

import { OutcomeUnknown, type Refused } from "./errors.js";

// Calls that are safe to repeat without a request id.
const REPEATABLE = /^(Get|List|Read|CloseSession|CancelJob|AcknowledgeRealityCheck|RunSelfCheck)/;
// Calls whose `requestId` names an earlier request.
const LOOK_UP = /^(Get|List|CancelRequest)/;

/** Returns a random id. A caller that stores the id before sending can look up the request after a crash. */
export function newRequestId(): string {
  return crypto.randomUUID();
}

/** Limits of retries, in milliseconds; `totalMs` covers all attempts of a call. */
export interface Policy {
  readonly totalMs: number;
  readonly attemptMs: number;
  readonly firstWaitMs: number;
  readonly waitMsMax: number;
}

export const POLICY: Policy = { totalMs: 30_000, attemptMs: 5_000, firstWaitMs: 50, waitMsMax: 2_000 };

// Longest permitted timeout: one day, which JavaScript's timers and the protocol's deadlines can represent.
const DAY_MS = 86_400_000;

function isTime(ms: number): boolean {
  return ms > 0 && ms <= DAY_MS;
}

export function policyOf(given: Partial<Policy>): Policy {
  const policy = { ...POLICY, ...given };
  const { totalMs, attemptMs, firstWaitMs, waitMsMax } = policy;
  if (![totalMs, attemptMs, firstWaitMs, waitMsMax].every(isTime)) {
    throw new RangeError("a policy's times must be above 0 and at most a day");
  }
  return policy;
}

export interface Method<I extends DescMessage> {
  readonly name: string;
  readonly input: I;
}

export class Asking<I extends DescMessage> {
  readonly request: MessageShape<I>;
  readonly requestId: string;
  /** Whether the service may have applied an attempt without answering it. */
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
      throw new RangeError("timeoutMs must be above 0 and at most a day");
    }
    this.#method = method;
    this.#policy = policy;
    this.#until = now() + timeoutMs;
    [this.request, this.requestId] = named(method, given);
  }

  attemptMs(): number {
    this.#attempts += 1;
    // Connect interprets 0 as no timeout, and the protocol requires whole milliseconds.
    const left = Math.max(1, Math.ceil(this.#until - this.now()));
    // A call that cannot be retried has one attempt, which gets the whole timeout.
    return this.#mayRepeat ? Math.min(Math.ceil(this.#policy.attemptMs), left) : left;
  }

  /** Returns the delay before the next attempt; throws if no further attempt is allowed. */
  waitMs(refused: Refused): number {
    this.lost ||= refused.isLost;
    const least = refused.retryAfterMs ?? 0;
    const left = this.#until - this.now() - least;
    if (left <= this.#policy.firstWaitMs || !this.#mayRepeat || !refused.mayPass) {
      this.giveUp(refused);
    }
    const backoff = Math.min(this.#policy.firstWaitMs * 2 ** (this.#attempts - 1), this.#policy.waitMsMax);
    // The delay is random, so that many callers do not retry at once. No retry starts after the deadline.
    return least + Math.min(this.draw(0, backoff), left / 2);
  }

  /** Throws the refusal, or OutcomeUnknown if an attempt may have been applied. */
  giveUp(refused: Refused): never {
    if (this.#changes && this.lost && refused.leavesOpen) {
      throw new OutcomeUnknown(`the outcome of ${this.#method.name} is unknown: ${refused.message}`, this.requestId, refused);
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
