// Plays a round per line of standard input, with one client.
import { createInterface } from "node:readline";

import { Client } from "motherlode-client";

const [address, playerId] = process.argv.slice(2);
const client = new Client({ address, plain: true });
const account = { operatorId: "demo", playerId, currencyCode: "EUR" };
const stake = { coinValue: "0.01", lines: 15, coinsPerLine: 1 };

async function play() {
  await client.spin.spin({ account, game: "neptune", stake }, { timeoutMs: 15_000 });
  console.log("played");
}

await play();
for await (const _ of createInterface({ input: process.stdin })) await play();
client.close();
