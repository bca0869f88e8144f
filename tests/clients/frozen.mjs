import { createInterface } from "node:readline";

import { Client } from "motherlode-client";

const [address, playerId] = process.argv.slice(2);
const client = new Client({ address, plain: true });
const account = { operatorId: "demo", playerId, currencyCode: "EUR" };

async function deposit() {
  await client.ledger.deposit({ account, amountMinor: 1n }, { timeoutMs: 15_000 });
  console.log("done");
}

await deposit();
for await (const _ of createInterface({ input: process.stdin })) await deposit();
client.close();
