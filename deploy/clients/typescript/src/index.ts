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
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { refusalOf } from "./errors.js";
import { JackpotService } from "./gen/motherlode/jackpot/v1/jackpot_pb.js";
import { LedgerService } from "./gen/motherlode/ledger/v1/ledger_pb.js";
import { ProofService } from "./gen/motherlode/proof/v1/proof_pb.js";
import { ReportService } from "./gen/motherlode/report/v1/report_pb.js";
import { SpinService } from "./gen/motherlode/spin/v1/spin_pb.js";
import { Asking, type Policy, policyOf } from "./retry.js";

export * from "./errors.js";
export { newRequestId, POLICY, type Policy } from "./retry.js";

export interface Target {
  /** `host:port`. */
  readonly address: string;
  readonly token?: string;
  /** CA certificates in PEM; by default those of the system. */
  readonly ca?: string | Buffer;
  /** Connects without TLS, which exposes the token: use it on loopback only. */
  readonly plain?: boolean;
}

/**
 * One connection for concurrent calls. `timeoutMs` limits all attempts of a call.
 *
 * Unary calls throw `Refused` or `OutcomeUnknown`. Streams are not retried and throw Connect's error (`refusalOf`).
 */
export class Client {
  readonly spin: Calls<typeof SpinService>;
  readonly ledger: Calls<typeof LedgerService>;
  readonly jackpot: Calls<typeof JackpotService>;
  readonly report: Calls<typeof ReportService>;
  readonly proof: Calls<typeof ProofService>;

  readonly #closing = new AbortController();

  constructor(target: Target, policy: Partial<Policy> = {}) {
    const baseUrl = urlOf(target);
    const sessions = new Http2SessionManager(baseUrl, {}, target.ca === undefined ? {} : { ca: target.ca });
    this.#closing.signal.addEventListener("abort", () => sessions.abort());
    const inner = createGrpcTransport({ baseUrl, sessionManager: sessions, interceptors: [showing(target.token ?? "")] });
    const transport = new Insisting(inner, policyOf(policy), this.#closing.signal);
    this.spin = createClient(SpinService, transport);
    this.ledger = createClient(LedgerService, transport);
    this.jackpot = createClient(JackpotService, transport);
    this.report = createClient(ReportService, transport);
    this.proof = createClient(ProofService, transport);
  }

  /** Closes the connection and ends its calls, including those waiting to retry. */
  close(): void {
    this.#closing.abort();
  }
}

class Insisting implements Transport {
  constructor(
    private readonly inner: Transport,
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
    if (ended()) {
      asking.giveUp(refusalOf(new ConnectError("nothing was sent", Code.Canceled), asking.requestId));
    }
    for (;;) {
      try {
        return await this.inner.unary(method, signal, asking.attemptMs(), header, asking.request as MessageInitShape<I>, contextValues);
      } catch (error) {
        const refused = refusalOf(error, asking.requestId);
        if (ended()) {
          asking.lost = true;
          asking.giveUp(refused);
        }
        const wait = asking.waitMs(refused);
        const either = signal ? AbortSignal.any([signal, this.closing]) : this.closing;
        await sleep(wait, undefined, { signal: either }).catch(() => asking.giveUp(refused));
      }
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

function urlOf({ address, plain = false }: Target): string {
  const url = new URL(`${plain ? "http" : "https"}://${address}`);
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    throw new TypeError(`${address} is not a host:port`);
  }
  if (plain && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) {
    throw new TypeError(`${address} is not a loopback address: use TLS`);
  }
  return url.origin;
}
