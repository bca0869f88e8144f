// Plays a round with the client that @hey-api/openapi-ts generated into the folder `generated`.
import { client } from "./generated/client.gen.js";
import { ledgerServiceDeposit, ledgerServiceGetRound, ledgerServiceOpenAccount, spinServiceSpin } from "./generated/sdk.gen.js";

client.setConfig({ baseUrl: process.argv[2] });
const throwOnError = true;
const account = { operatorId: "demo", playerId: "typescript", currencyCode: "EUR" };
await ledgerServiceOpenAccount({ body: { requestId: "open", account }, throwOnError });
await ledgerServiceDeposit({ body: { requestId: "deposit", account, amountMinor: "1000" }, throwOnError });
const stake = { coinValue: "0.10", lines: 15, coinsPerLine: 1 };
const bet = await spinServiceSpin({ body: { requestId: "spin", account, game: "neptune", stake }, throwOnError });
const { roundId } = bet.data.played!;
const found = await ledgerServiceGetRound({ body: { roundId }, throwOnError });
console.log(found.data.round!.roundId, found.data.round!.state);
