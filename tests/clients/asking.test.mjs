import assert from "node:assert/strict";
import { test } from "node:test";

import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Client, Conflict, NotSent, OutcomeUnknown, POLICY, Refused, refusalOf, Unavailable } from "motherlode-client";
import { DepositRequestSchema, LedgerService } from "motherlode-client/ledger/v1/ledger_pb";
import { SpinService } from "motherlode-client/spin/v1/spin_pb";

import { Asking, policyOf } from "./node_modules/motherlode-client/dist/retry.js";

const { deposit, getRequest, cancelRequest, listRounds } = LedgerService.method;
const clock = () => ({ ms: 0 });

function asking({ method = deposit, request = { requestId: "d-1" }, at = clock(), draw = (_, high) => high, ...bounds } = {}) {
  const policy = policyOf(bounds);
  return new Asking(method, request, policy, policy.totalMs, () => at.ms, draw);
}

const refused = (code, reason = "", retryAfterMs = undefined) => new Refused({ code, text: "no", reason, retryAfterMs });

test("PL-11: a request without an id gets one, and the caller's message is left alone", () => {
  const mine = create(DepositRequestSchema, { amountMinor: 5n });
  const [first, second] = [asking({ request: mine }), asking({ request: mine })];
  assert.equal(mine.requestId, "");
  assert.equal(first.request.amountMinor, 5n);
  assert.equal(first.requestId, first.request.requestId);
  assert.notEqual(first.requestId, second.requestId);
  assert.match(first.requestId, /^[0-9a-f-]{36}$/);
});

test("PL-11: what the caller does to its message afterwards is not sent under the same id", () => {
  const mine = create(DepositRequestSchema, { requestId: "d-1", amountMinor: 5n });
  const request = asking({ request: mine });
  mine.amountMinor = 6n;
  assert.equal(request.request.amountMinor, 5n);
});

test("PL-33: the id of a look-up is never made", () => {
  for (const method of [getRequest, cancelRequest, listRounds]) assert.equal(asking({ method, request: {} }).requestId, "");
});

test("waits double up to the longest, with full jitter", () => {
  const drawn = [];
  const draw = (low, high) => (drawn.push([low, high]), low);
  const request = asking({ draw, firstWaitMs: 100, waitMsMax: 500 });
  for (let turn = 0; turn < 5; turn += 1) {
    request.attemptMs();
    request.waitMs(refused(Code.Unavailable));
  }
  assert.deepEqual(drawn, [100, 200, 400, 500, 500].map((high) => [0, high]));
});

test("what the service asks to wait is waited at least", () => {
  const request = asking();
  request.attemptMs();
  assert.ok(request.waitMs(refused(Code.ResourceExhausted, "RATE_LIMITED", 3_000)) >= 3_000);
  assert.throws(() => request.waitMs(refused(Code.ResourceExhausted, "RATE_LIMITED", 31_000)), Refused);
});

const LOST = [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Unknown, Code.Internal];
const CODES = Object.values(Code).filter((code) => typeof code === "number");

for (const code of CODES) {
  test(`asked again after ${Code[code]}: where it can be a lost answer`, () => {
    const request = asking();
    request.attemptMs();
    if (LOST.includes(code)) request.waitMs(refused(code));
    else assert.throws(() => request.waitMs(refused(code)), Refused);
    if (code !== Code.Unavailable && code !== Code.DeadlineExceeded) assert.throws(() => request.waitMs(refused(code, "A_REASON")));
  });
}

test("retries last until the deadline and not beyond", () => {
  for (const draw of [(_, high) => high, (_, high) => high / 2]) {
    const at = clock();
    const request = asking({ at, draw });
    assert.throws(() => {
      for (let turn = 0; turn < 1_000; turn += 1) {
        request.attemptMs();
        at.ms += request.waitMs(refused(Code.Unavailable));
      }
    }, OutcomeUnknown);
    assert.ok(at.ms >= 29_900 && at.ms < 30_000, `${at.ms}`);
  }
});

test("attempts and time are bounded", () => {
  const at = clock();
  const request = asking({ at, totalMs: 10_000, attemptMs: 4_000 });
  assert.equal(request.attemptMs(), 4_000);
  request.waitMs(refused(Code.Unavailable));
  at.ms = 9_000;
  assert.equal(request.attemptMs(), 1_000);
  assert.ok(request.waitMs(refused(Code.Unavailable)) <= 500);
  at.ms = 10_001;
  assert.equal(request.attemptMs(), 1);
  assert.throws(() => request.waitMs(refused(Code.Unavailable)), (thrown) => thrown instanceof OutcomeUnknown && thrown.requestId === "d-1");
});

test("PL-33: a refusal at the door says nothing about an attempt whose answer was lost", () => {
  for (const [last, kind] of [[refused(Code.Unauthenticated, "TOKEN_EXPIRED"), OutcomeUnknown], [refused(Code.FailedPrecondition, "INSUFFICIENT_FUNDS"), Refused]]) {
    const request = asking();
    request.attemptMs();
    request.waitMs(refused(Code.Unavailable));
    request.attemptMs();
    assert.throws(() => request.waitMs(last), kind);
  }
});

test("a look-up without an answer changes nothing and is refused", () => {
  const at = clock();
  const request = asking({ at, method: getRequest, request: { requestId: "r" } });
  request.attemptMs();
  at.ms = 30_000;
  assert.throws(() => request.waitMs(refused(Code.Unavailable)), Refused);
});

test("what has no request id is asked again only where it comes to the same", () => {
  const closing = asking({ method: SpinService.method.closeSession, request: {} });
  closing.attemptMs();
  closing.waitMs(refused(Code.Unavailable));
  const other = asking({ method: { name: "ResolveAwards", input: SpinService.method.closeSession.input }, request: {}, totalMs: 20_000 });
  assert.equal(other.attemptMs(), 20_000);
  assert.throws(() => other.waitMs(refused(Code.Unavailable)), OutcomeUnknown);
});

test("PL-33: what a broken connection or answer looks like to Connect is a lost answer, whatever its code", () => {
  for (const code of CODES) {
    const told = refusalOf(new ConnectError("read ECONNRESET", code), "r");
    assert.ok(told.isLost, Code[code]);
    assert.equal(refusalOf(new ConnectError("no", code, { "grpc-status": `${code}` })).code, code);
  }
  assert.ok(refusalOf(new ConnectError("", Code.Aborted)) instanceof Unavailable);
});

test("details that are damaged leave the status", () => {
  const broken = new ConnectError("there", Code.AlreadyExists, { "grpc-status": "6" });
  broken.details = [{ type: "google.rpc.ErrorInfo", value: Uint8Array.of(255, 255) }];
  const told = refusalOf(broken, "r");
  assert.deepEqual([told.code, told.reason, told.requestId], [Code.AlreadyExists, "", "r"]);
  assert.ok(!(told instanceof Conflict));
});

test("PL-27: a token never goes over a plain connection to another machine", () => {
  assert.throws(() => new Client({ address: "192.0.2.1:50051", token: "t", plain: true }), /TLS/);
  assert.throws(() => new Client({ address: "127.0.0.1.example.com:50051", token: "t", plain: true }), /TLS/);
  assert.throws(() => new Client({ address: "[::1]:1", token: "two words", plain: true }), /printable ASCII/);
  for (const address of ["user@localhost:1", "localhost:1/path", "localhost:1?a"]) {
    assert.throws(() => new Client({ address, plain: true }), /host:port/);
  }
  new Client({ address: "[::1]:50051", token: " t\n", plain: true }).close();
  new Client({ address: "192.0.2.1:50051", token: "t", plain: true, plainRemote: true }).close();
  for (const wrong of [{ certificate: "c" }, { key: "k" }, { address: "[::1]:1", plain: true, ca: "c" }]) {
    assert.throws(() => new Client({ address: "localhost:1", ...wrong }), /certificate/);
  }
});

test("a client is not used after its close", async () => {
  const client = new Client({ address: "127.0.0.1:1", plain: true });
  client.close();
  await assert.rejects(client.job.listJobs({}), NotSent);
  await assert.rejects(async () => {
    for await (const _ of client.ledger.followLog({})) break;
  }, NotSent);
});

test("PL-33: only without a lost attempt is a call known to be unsent", () => {
  const none = new NotSent({ code: Code.Unavailable, text: "no connection" }, "d-1");
  for (const [before, kind] of [[[], NotSent], [[refused(Code.Unavailable)], OutcomeUnknown]]) {
    const at = clock();
    const request = asking({ at });
    for (const refusal of before) {
      request.attemptMs();
      request.waitMs(refusal);
    }
    request.attemptMs();
    request.waitMs(none);
    at.ms = 30_000;
    assert.throws(() => request.waitMs(none), kind);
  }
});

test("a policy and a time that can't hold are refused", () => {
  for (const bounds of [{ totalMs: 0 }, { attemptMs: NaN }, { waitMsMax: Infinity }, { totalMs: 1e9 }]) {
    assert.throws(() => policyOf(bounds), RangeError);
  }
  for (const timeoutMs of [0, -1, NaN, 1e9]) assert.throws(() => new Asking(deposit, {}, POLICY, timeoutMs), RangeError);
});
