import type { ClientHttp2Stream, Http2Session } from "node:http2";

import { Code, ConnectError } from "@connectrpc/connect";
import { type GrpcTransportOptions, Http2SessionManager } from "@connectrpc/connect-node";

export type Options = Omit<GrpcTransportOptions, "baseUrl" | "sessionManager">;

export interface Target {
  /** `host:port`. */
  readonly address: string;
  readonly token?: string;
  /** Certificate authorities in PEM; by default the system's. */
  readonly ca?: string | Buffer;
  /** Client certificate and its key in PEM. */
  readonly certificate?: string | Buffer;
  readonly key?: string | Buffer;
  /** Connects without TLS, so the token is sent unencrypted. */
  readonly plain?: boolean;
  /** Allows `plain` for addresses other than loopback. */
  readonly plainRemote?: boolean;
  /** Connect options, which override the client's defaults. */
  readonly options?: Options;
}

// The pings detect a silent connection, which is replaced within 9 s. Idle connections are not pinged, because a ping
// after an abort throws in a timer of connect-node 2.1.2; each is checked before its next call.
const PINGS = { pingIntervalMs: 4_000, pingTimeoutMs: 4_000 };
const OPENING_MS_MAX = 3_000;

type Requested = Parameters<Http2SessionManager["request"]>;

/** Checks each new connection with a ping before the first call is sent. */
export class Connection {
  readonly authority: string;
  readonly #sessions: Http2SessionManager;
  #open: Http2Session | undefined;
  #opening: Promise<void> | undefined;

  constructor(target: Target) {
    const { nodeOptions, ...options } = target.options ?? {};
    const tls = { ca: target.ca, cert: target.certificate, key: target.key };
    const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
    this.#sessions = new Http2SessionManager(urlOf(target), { ...PINGS, ...options }, { ...given, ...nodeOptions });
    this.authority = this.#sessions.authority;
  }

  async request(...request: Requested): Promise<ClientHttp2Stream> {
    const stream = await this.#sessions.request(...request);
    this.#open = stream.session;
    return stream;
  }

  notifyResponseByteRead(stream: ClientHttp2Stream): void {
    this.#sessions.notifyResponseByteRead(stream);
  }

  abort(): void {
    this.#sessions.abort();
  }

  get isOpen(): boolean {
    return this.#open !== undefined && !this.#open.closed && !this.#open.destroyed;
  }

  /** Opens a connection; concurrent calls share it. */
  ready(): Promise<void> {
    this.#opening ??= this.#connect().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #connect(): Promise<void> {
    const late = new ConnectError(`no connection within ${OPENING_MS_MAX} ms`, Code.Unavailable);
    const timer = setTimeout(() => this.#sessions.abort(late), OPENING_MS_MAX);
    let probe: ClientHttp2Stream | undefined;
    try {
      // Opens and cancels a stream, because connect-node gives access to the HTTP/2 session only through a stream.
      probe = await this.#sessions.request("POST", "/", {}, {});
      const { session } = probe;
      await new Promise<void>((resolve, reject) => {
        probe?.on("error", reject);
        session?.once("close", () => reject(new ConnectError("the connection was closed", Code.Unavailable)));
        session?.ping((error) => error ?? resolve());
      });
      this.#open = session;
    } finally {
      clearTimeout(timer);
      probe?.close();
    }
  }
}

export function urlOf({ address, plain = false, plainRemote = false, ca, certificate, key }: Target): string {
  const url = new URL(`${plain ? "http" : "https"}://${address}`);
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    throw new TypeError(`${address} is not a host:port`);
  }
  if (plain && !plainRemote && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) {
    throw new TypeError(`${address} is not a loopback address: use TLS, or plainRemote`);
  }
  if (plain && (ca ?? certificate ?? key) !== undefined) {
    throw new TypeError("a plain connection has no certificates");
  }
  if ((certificate === undefined) !== (key === undefined)) {
    throw new TypeError("a client certificate needs both certificate and key");
  }
  return url.origin;
}
