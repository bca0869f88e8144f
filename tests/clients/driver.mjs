// Makes calls for a test, with the published npm package. Reads one call as JSON per line, and writes one result as JSON
// per line.
import { createInterface } from "node:readline";

import { fromJson, toJson } from "@bufbuild/protobuf";
import { Client, refusalOf } from "motherlode-client";
import { LedgerService } from "motherlode-client/ledger/v1/ledger_pb";
import { SpinService } from "motherlode-client/spin/v1/spin_pb";

const SERVICES = { ledger: LedgerService, spin: SpinService };
const parents = (thrown) => {
  const names = [];
  for (let kind = Object.getPrototypeOf(thrown); kind !== null; kind = Object.getPrototypeOf(kind)) names.push(kind.constructor.name);
  return names;
};
let underWay;

async function call({ target, policy, service, method, request, timeoutMs }) {
  const client = new Client(target, policy);
  const abort = new AbortController();
  underWay = { abort: () => abort.abort(), close: () => client.close() };
  const described = SERVICES[service].method[method];
  const message = fromJson(described.input, request);
  const before = JSON.stringify(toJson(described.input, message));
  const options = { signal: abort.signal, ...(timeoutMs && { timeoutMs }) };
  try {
    if (described.methodKind === "unary") {
      const answer = toJson(described.output, await client[service][method](message, options));
      return { answer, unchanged: before === JSON.stringify(toJson(described.input, message)) };
    }
    for await (const first of client[service][method](message, options)) return { answer: toJson(described.output, first) };
  } catch (thrown) {
    const { requestId, code, reason, fields, metadata, cause } = thrown;
    const streamed = described.methodKind === "unary" ? undefined : refusalOf(thrown).reason;
    return { thrown: { kinds: parents(thrown), requestId, code, reason, fields, metadata, cause: cause?.constructor?.name, streamed } };
  } finally {
    client.close();
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  if (asked.end) underWay[asked.end]();
  else call(asked).then((told) => console.log(JSON.stringify(told)), (thrown) => console.log(JSON.stringify({ broken: String(thrown?.stack) })));
}
