import { setTimeout as sleep } from "node:timers/promises";

import type { DescMessage, DescMethodStreaming, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import {
  type Client as Calls,
  Code,
  ConnectError,
  type ContextValues,
  createClient,
  type Interceptor,
  type StreamResponse,
  type Transport,
  type UnaryResponse,
} from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";

import { Connection, type Target, urlOf } from "./connection.js";
import { NotSent, type Refused, refusalOf } from "./errors.js";
import { AdminService } from "./gen/motherlode/admin/v1/admin_pb.js";
import { JackpotService } from "./gen/motherlode/jackpot/v1/jackpot_pb.js";
import { JobService } from "./gen/motherlode/job/v1/job_pb.js";
import { LedgerService } from "./gen/motherlode/ledger/v1/ledger_pb.js";
import { ProofService } from "./gen/motherlode/proof/v1/proof_pb.js";
import { ReportService } from "./gen/motherlode/report/v1/report_pb.js";
import { SpinService } from "./gen/motherlode/spin/v1/spin_pb.js";
import { Asking, type Policy, policyOf } from "./retry.js";

export type { Options, Target } from "./connection.js";
export * from "./errors.js";
export { newRequestId, POLICY, type Policy } from "./retry.js";

/**
 * Client with one connection for concurrent calls. `timeoutMs` limits the total time of a call's attempts.
 *
 * Unary calls throw `Refused` or `OutcomeUnknown`. Streams are not retried; they throw Connect's error (see `refusalOf`).
 */
export class Client {
  readonly spin: Calls<typeof SpinService>;
  readonly ledger: Calls<typeof LedgerService>;
  readonly jackpot: Calls<typeof JackpotService>;
  readonly report: Calls<typeof ReportService>;
  readonly proof: Calls<typeof ProofService>;
  readonly job: Calls<typeof JobService>;
  readonly admin: Calls<typeof AdminService>;

  readonly #closing = new AbortController();

  constructor(target: Target, policy: Partial<Policy> = {}) {
    const connection = new Connection(target);
    this.#closing.signal.addEventListener("abort", () => connection.abort());
    const interceptors = [...(target.options?.interceptors ?? []), showing((target.token ?? "").trim())];
    const inner = createGrpcTransport({ ...target.options, baseUrl: urlOf(target), sessionManager: connection, interceptors });
    const transport = new Insisting(inner, connection, policyOf(policy), this.#closing.signal);
    this.spin = createClient(SpinService, transport);
    this.ledger = createClient(LedgerService, transport);
    this.jackpot = createClient(JackpotService, transport);
    this.report = createClient(ReportService, transport);
    this.proof = createClient(ProofService, transport);
    this.job = createClient(JobService, transport);
    this.admin = createClient(AdminService, transport);
  }

  /** Closes the connection and ends its calls, including those waiting to retry. */
  close(): void {
    this.#closing.abort();
  }
}

class Insisting implements Transport {
  constructor(
    private readonly inner: Transport,
    private readonly connection: Connection,
    private readonly policy: Policy,
    private readonly closing: AbortSignal,
  ) {}

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    message: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    const asking = new Asking(method, message, this.policy, timeoutMs);
    const ended = () => this.closing.aborted || signal?.aborted === true;
    const end = () => (signal ? AbortSignal.any([signal, this.closing]) : this.closing);
    for (;;) {
      const until = performance.now() + asking.attemptMs();
      let refused: Refused | undefined;
      if (ended()) {
        refused = new NotSent({ code: Code.Canceled, text: "the call or the client has ended" }, asking.requestId);
      } else if (!this.connection.isOpen) {
        refused = await this.#connect(until, end(), asking.requestId);
      }
      if (refused === undefined) {
        const left = Math.max(1, Math.ceil(until - performance.now()));
        try {
          return await this.inner.unary(method, signal, left, header, asking.request as MessageInitShape<I>, contextValues);
        } catch (error) {
          refused = refusalOf(error, asking.requestId);
          asking.lost ||= ended();
        }
      }
      if (ended()) {
        asking.giveUp(refused);
      }
      const last = refused;
      await sleep(asking.waitMs(last), undefined, { signal: end() }).catch(() => asking.giveUp(last));
    }
  }

  /** Opens a connection; returns an error if that fails. */
  async #connect(until: number, end: AbortSignal, requestId: string): Promise<NotSent | undefined> {
    const none = (text: string, cause?: unknown) => new NotSent({ code: Code.Unavailable, text }, requestId, cause);
    const done = new AbortController();
    const late = sleep(until - performance.now(), undefined, { signal: AbortSignal.any([end, done.signal]) });
    try {
      const ready = this.connection.ready().then(() => undefined, (error: unknown) => none(ConnectError.from(error).rawMessage, error));
      return await Promise.race([ready, late.then(() => none("no connection in time"))]);
    } catch (error) {
      return none("the call or the client has ended", error);
    } finally {
      late.catch(() => undefined);
      done.abort();
    }
  }

  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
    contextValues?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    if (this.closing.aborted) {
      return Promise.reject(new NotSent({ code: Code.Canceled, text: "the client is closed" }, ""));
    }
    return this.inner.stream(method, signal, timeoutMs, header, input, contextValues);
  }
}

function showing(token: string): Interceptor {
  if (!/^[!-~]*$/.test(token)) {
    throw new TypeError("the token has characters other than printable ASCII");
  }
  return (next) => (request) => {
    if (token !== "") {
      request.header.set("authorization", `Bearer ${token}`);
    }
    return next(request);
  };
}
