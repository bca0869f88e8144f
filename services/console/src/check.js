// Verifies a round's proof in the browser, without the service: the log's signature, the inclusion of the round's
// records in the log, and each dealt value against its seal. Like examples/verify_round.py, this script uses only the
// specifications: c2sp.org/signed-note, tlog-checkpoint and tlog-proof, RFC 6962, proof.proto and log.proto.

class Unproven extends Error {}

function check(holds, what) {
  if (!holds) throw new Unproven(what);
}

const encoded = (text) => new TextEncoder().encode(text);
const decoded = (bytes) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const same = (one, other) => hex(one) === hex(other);

function bytesOf(base64) {
  check(/^[A-Za-z0-9+/]*={0,2}$/.test(base64) && base64.length % 4 === 0, "the proof or the key has invalid base64");
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function joined(...parts) {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

async function sha256(...parts) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));
}

async function checkpoint(note, key) {
  const [, name, id, base64] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(key) ?? [];
  check(name, "the key is malformed");
  const bytes = bytesOf(base64);
  check(bytes.length === 33 && bytes[0] === 1, "the key is not a log's key");
  check(hex(await sha256(encoded(`${name}\n`), bytes)).startsWith(id), "the key has the wrong id");
  const end = note.lastIndexOf("\n\n");
  check(end >= 0, "the checkpoint is malformed");
  const text = note.slice(0, end + 1);
  const verifier = await crypto.subtle.importKey("raw", bytes.slice(1), "Ed25519", false, ["verify"]);
  let signed = false;
  for (const line of note.slice(end + 2).split("\n").filter(Boolean)) {
    const [dash, signer, base64] = line.split(" ");
    if (dash !== "\u2014" || signer !== name) continue;
    const signature = bytesOf(base64 ?? "");
    if (hex(signature.slice(0, 4)) !== id) continue;
    signed = await crypto.subtle.verify("Ed25519", verifier, signature.slice(4), encoded(text));
    check(signed, "the signature is invalid");
  }
  check(signed, "the checkpoint is not signed with the key");
  const [origin, size, root] = text.split("\n");
  check(origin === name, "the checkpoint belongs to another log");
  check(/^[1-9][0-9]{0,14}$/.test(size), "the checkpoint has no size");
  return { name, size: Number(size), root: bytesOf(root) };
}

async function rootOf(entry, index, size, path) {
  check(index >= 0 && index < size, "an index is beyond the size of the tree");
  const half = (number) => Math.floor(number / 2);
  let last = size - 1;
  let reached = await sha256(Uint8Array.of(0), entry);
  for (const sibling of path) {
    check(last > 0, "a path is too long");
    if (index % 2 === 1 || index === last) {
      reached = await sha256(Uint8Array.of(1), sibling, reached);
      while (index % 2 === 0 && index > 0) [index, last] = [half(index), half(last)];
    } else {
      reached = await sha256(Uint8Array.of(1), reached, sibling);
    }
    [index, last] = [half(index), half(last)];
  }
  check(last === 0, "a path is too short");
  return reached;
}

function varint(message, at) {
  for (let value = 0n, shift = 0n; shift < 64n; shift += 7n) {
    check(at < message.length, "a message is cut off");
    const byte = message[at++];
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return [Number(value), at];
  }
  throw new Unproven("a number is too long");
}

function* fields(message) {
  let at = 0;
  const next = () => {
    const [value, end] = varint(message, at);
    at = end;
    return value;
  };
  while (at < message.length) {
    const tag = next();
    const kind = tag % 8;
    if (kind === 0) {
      yield [Math.floor(tag / 8), next()];
      continue;
    }
    check([1, 2, 5].includes(kind), "a message is malformed");
    const length = kind === 2 ? next() : kind === 1 ? 8 : 4;
    check(at + length <= message.length, "a message is cut off");
    yield [Math.floor(tag / 8), message.slice(at, at + length)];
    at += length;
  }
}

// Returns the values of the fields at the end of a path of field numbers.
function parts(message, first, ...rest) {
  const found = [];
  for (const [number, value] of fields(message)) {
    if (number === first) found.push(...(rest.length > 0 ? parts(value, ...rest) : [value]));
  }
  return found;
}

const one = (message, ...path) => parts(message, ...path)[0];

// Decodes the records in a proof's fields `kinds`, and returns one list per field. A record's bytes that also occur in
// earlier records are copied from these records (ProvenRecord.copied).
async function recordsOf(extra, ...kinds) {
  let text = new Uint8Array();
  const found = [];
  for (const kind of kinds) {
    const some = [];
    for (const message of parts(extra, kind)) {
      const own = one(message, 2) ?? new Uint8Array();
      const copied = one(message, 4) ?? new Uint8Array();
      const begun = text.length;
      let [used, room] = [0, 4096];
      for (let at = 0; at < copied.length; ) {
        const run = [];
        for (; run.length < 3; at = run.at(-1)[1]) run.push(varint(copied, at));
        const [more, from, length] = run.map(([number]) => number);
        room -= length;
        check(room >= 0, "a record copies too many bytes");
        text = joined(text, own.slice(used, used + more));
        used += more;
        check(used <= own.length && from + length <= text.length, "a copied range is out of bounds");
        text = joined(text, text.slice(from, from + length));
      }
      const record = joined(text.slice(begun), own.slice(used));
      text = joined(await sha256(record), record);
      const position = one(record, 2);
      check([undefined, position].includes(one(message, 1)), `position ${position}: the record has another position`);
      some.push({ position, record, path: parts(message, 3) });
    }
    found.push(some);
  }
  return found;
}

// Checks that the records contain the round's bet, all steps, and its settlement or void.
function whole(number, records) {
  const events = records.flatMap(({ record }) => parts(record, 10));
  const has = (kind) => events.some((event) => one(event, kind, 1) === number);
  const steps = events.filter((event) => one(event, 6, 1) === number).map((event) => one(event, 6, 2));
  check(has(5), `there is no bet of round ${number} in the records`);
  const counted = steps.length > 0 && steps.every((step, at) => step === at + 1);
  check(counted && (has(8) || has(9)), "the records are not the whole round: a step or the round's end is missing");
  return { steps: steps.length, settled: has(8) };
}

// Verifies the round's draws, and returns the number, seed and seal position of each draw. The position is null if the
// proof lacks the seal.
async function draws(roundId, number, settled, records, sealing) {
  const seals = new Map();
  const [used, dealt] = [[], []];
  let lost = false;
  for (const { position, record } of [...sealing, ...records]) {
    const request = one(record, 7) ?? new Uint8Array();
    for (const event of parts(record, 10)) {
      const draw = one(event, 6, 8);
      if (draw && one(event, 6, 1) === number) {
        const [step, clientSeed] = [one(event, 6, 2), one(draw, 3) ?? request];
        used.push({ draw: one(draw, 1), step, clientSeed, position, sealedBy: one(draw, 6) });
      }
      const [sealed, seal] = draw ? [one(draw, 1) + 1, one(draw, 5)] : [one(event, 43, 1), one(event, 43, 3)];
      if (sealed) {
        check(!seals.has(sealed), `draw ${sealed} was sealed twice`);
        seals.set(sealed, { position, seal, entry: await sha256(record) });
      }
      if (one(event, 44, 1) === number) dealt.push(...parts(event, 44, 2));
      lost ||= one(event, 45, 1) === number;
    }
  }
  // A settled round must reveal all dealt values; a voided round may omit some if the draw key was lost.
  check((lost && !settled) || dealt.length === used.length, "the random value of a draw is not revealed");
  const found = [];
  for (const [at, value] of dealt.slice(0, used.length).entries()) {
    const { draw, step, clientSeed, position, sealedBy } = used[at];
    const where = seals.get(draw);
    const shown = where !== undefined && where.position < position;
    const seal = await sha256(encoded(`motherlode/seal/v1\n${hex(value)}\n`));
    check(!shown || !sealedBy || same(sealedBy, where.entry), `draw ${draw} was not sealed in the record named by its step`);
    check(!shown || same(seal, where.seal), `draw ${draw} does not match its seal`);
    const lines = ["motherlode/seed/v1", hex(value), hex(clientSeed), roundId, step];
    const seed = hex(await sha256(encoded(lines.map((line) => `${line}\n`).join(""))));
    found.push({ draw, seed, where: shown ? where.position : null });
  }
  return found;
}

// Verifies a round's proof and reports each passed check.
async function verify(proof, key, wanted, tell) {
  const end = proof.indexOf("\n\n");
  const [header, extra, index, ...path] = proof.slice(0, Math.max(end, 0)).split("\n");
  check(header === "c2sp.org/tlog-proof@v1", "this is not a proof");
  check(extra?.startsWith("extra ") && /^index [0-9]{1,15}$/.test(index), "this is not the proof of a round");
  const { name, size, root } = await checkpoint(proof.slice(end + 2), key);
  tell(`Signature: ${name} signed a log of ${size.toLocaleString("en")} records.`);

  const found = bytesOf(extra.slice("extra ".length));
  const inOrder = (all) => all.every(({ position }, at) => position > (at === 0 ? 0 : all[at - 1].position));
  const [sealing, records] = await recordsOf(found, 3, 1);
  check(inOrder(sealing) && inOrder(records), "the records are not in the log's order");
  // The proof's inclusion path proves the last record. Each other record needs a path, unless a proved record contains
  // the record's hash.
  const last = records.at(-1);
  const ends = last && last.path.length === 0 && Number(index.slice("index ".length)) === last.position - 1;
  check(ends && sealing.every(({ position }) => position < last.position), "the index belongs to another record");
  const stream = decoded(one(last.record, 4));
  const roundId = decoded(one(found, 2) ?? new Uint8Array()) || `${stream.replace("player/", "")}/${one(found, 4)}`;
  check(roundId === wanted, `the proof belongs to another round: ${roundId}`);
  check(`player/${roundId}`.replace(/\/[0-9]+$/, "") === stream, "the round belongs to another player");
  last.path = path.map(bytesOf);
  const named = new Set();
  for (const { position, record, path } of [...sealing, ...records].sort((one, other) => other.position - one.position)) {
    const entry = await sha256(record);
    if (path.length > 0 || !named.has(hex(entry))) {
      check(same(await rootOf(entry, position - 1, size, path), root), `position ${position} is not in the log`);
    }
    check(decoded(one(record, 4)) === stream, `position ${position}: the record belongs to another player`);
    parts(record, 10, 6, 8, 6).forEach((hash) => named.add(hex(hash)));
  }
  const number = Number(roundId.slice(roundId.lastIndexOf("/") + 1));
  const { steps, settled } = whole(number, records);
  for (const { position, record, path } of records) {
    const found = path.length > 0 || size === 1 ? "is in the log" : "is named by its hash in a record in the log";
    tell(`Inclusion: position ${position}, ${record.length} bytes with SHA-256 ${hex(await sha256(record))}, ${found}.`);
  }
  const drawn = await draws(roundId, number, settled, records, sealing);
  for (const { draw, seed, where } of drawn) {
    const sealed = where === null ? "its seal is not in the proof" : `its value matches the seal at position ${where}`;
    tell(`Seal: draw ${draw}, ${sealed}; its seed is ${seed}.`);
  }
  return drawn.length === steps && drawn.every(({ where }) => where !== null);
}

async function loaded(address) {
  const answer = await fetch(address, { referrerPolicy: "no-referrer" }).catch(() => undefined);
  check(answer?.status !== 429, "too many proofs were requested: try again in a minute");
  check(answer?.ok, "the service returned no proof: try again later");
  return answer.text();
}

const form = document.querySelector("#check");
const results = document.querySelector("#results");
const verdict = document.querySelector("#verdict");
const button = form.querySelector("button");

form.addEventListener("submit", async (submitted) => {
  submitted.preventDefault();
  button.disabled = true;
  results.replaceChildren();
  verdict.className = "";
  verdict.textContent = "";
  const tell = (what) => {
    const line = document.createElement("li");
    line.textContent = what;
    results.append(line);
  };
  try {
    check(globalThis.crypto?.subtle, "browsers can verify proofs only on pages served over https or by this machine");
    const { proof, key } = form.elements;
    if (form.dataset.source && !proof.value) proof.value = await loaded(form.dataset.source);
    const sealed = await verify(proof.value, key.value.trim(), form.dataset.round, tell);
    verdict.textContent = sealed ? "All checks passed." : "All checks passed, but the proof does not show that each draw was sealed before its request.";
    verdict.className = sealed ? "good" : "part";
  } catch (error) {
    verdict.textContent = `Not proven: ${error instanceof Unproven ? error.message : `the proof is malformed (${error.message})`}.`;
    verdict.className = "bad";
  }
  button.disabled = false;
});
button.disabled = false;
