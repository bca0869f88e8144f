"""The console in a real browser: without JavaScript, by keyboard, on a telephone and on a desk, by day and by night (WCAG by axe).

Debian's chromium; without one these tests are skipped, and say so.
"""

import base64
import hashlib
import re

import pytest
from browsing import CONSOLE, SHOTS, SIZES, assert_accessible, browser, enter, look, needs_chromium, patient
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from motherlode.log.v1 import log_pb2
from motherlode.proof.v1 import proof_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2
from test_page import STAKES

pytestmark = needs_chromium


@pytest.fixture
def console(start):
    """A service with a round of each game; gives the console's address and the rounds' names."""
    service = start(CONSOLE)
    client = service.client()
    alice = client.fund("alice")
    rounds = []
    for game, (coin_value, lines, coins) in STAKES.items():
        stake = round_pb2.Stake(coin_value=coin_value, lines=lines, coins_per_line=coins)
        witch = round_pb2.WITCH_WHITE if game == "bewitched" else round_pb2.WITCH_UNSPECIFIED
        stake.buy_feature = game == "mystery-elves"
        played = client.spin(spin_pb2.SpinRequest(request_id=game, account=alice, game=game, stake=stake, witch=witch))
        if played.state == round_pb2.ROUND_STATE_OPEN:
            client.spins.SkipRound(spin_pb2.SkipRoundRequest(request_id=f"skip-{game}", round_id=played.round_id))
        rounds.append(played.round_id)
    client.close()
    return service.console, rounds


def test_pl_19_pages_fit_and_axe_finds_nothing(browser, console):
    address, rounds = console
    context = patient(browser)
    page = enter(context, address)
    blocked = []
    page.on("console", lambda message: blocked.append(message.text) if message.type == "error" else None)
    paths = ["", "find", "jackpots", "jackpots/bewitched", "reports", "reports/revenue", "trust", "log", "log/0/3"]
    game = "games/neptune/" + version(page, address)
    paths += ["games", game, game + "/par", game + "/reels", game + "/returns"]
    paths += [f"round/{name}" for name in rounds]
    paths += [f"player/{rounds[0].rpartition('/')[0]}"]
    for path in paths:
        # What goes on by itself stands still for axe and for the picture.
        assert page.goto(address + path + "?live=off").status == 200, path
        look(page, path.replace("/", "-") or "now")
    assert blocked == [], "the policy blocks nothing that the pages need"
    context.close()


def version(page, address):
    """The newest version of a game, from the list of games."""
    page.goto(address + "games")
    return re.search(r"games/neptune/([0-9.]+)", page.content()).group(1)


def test_pl_20_support_works_by_keyboard_and_without_javascript(browser, console):
    address, rounds = console
    context = patient(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Now").wait_for()
    # The first key leads past the navigation, to the content.
    page.keyboard.press("Tab")
    assert page.locator("a.skip:focus").count() == 1
    page.get_by_label("Find a round, a player or a position").fill(rounds[3])
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=f"Round {rounds[3]}").wait_for()
    page.get_by_label("Reason").fill("<b>reel 3</b> stuck")
    page.keyboard.press("Enter")
    page.get_by_text("Voided by").wait_for()
    assert page.get_by_text("<b>reel 3</b> stuck").count() == 1
    # What needs a script says so, and where to go.
    page.goto(f"{address}round/{rounds[1]}/check")
    assert page.get_by_role("button", name="Check it here").is_disabled()
    assert "motherlode verify" in page.locator(".notice").inner_text()
    page.get_by_role("button", name="Log out").click()
    page.goto(f"{address}round/{rounds[3]}")
    assert page.get_by_role("heading", level=1).inner_text() == "Log in"
    context.close()


def verdict(page):
    """Has the page check the proof that it shows; gives what it says of it."""
    page.get_by_role("button", name="Check it here").click()
    page.locator("#verdict.good, #verdict.bad, #verdict.part").wait_for()
    return page.locator("#verdict").inner_text()


@pytest.mark.parametrize("width,scheme", SIZES)
def test_pl_28_a_proof_is_checked_in_the_browser(browser, console, width, scheme):
    address, rounds = console
    context = patient(browser, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = enter(context, address)
    asked = []
    # A browser gets a page's icon by itself, whenever it comes to it: that is not the script's doing.
    page.on("request", lambda request: None if request.url.endswith("/icon.svg") else asked.append(request.url))
    for name in rounds:
        page.goto(f"{address}round/{name}")
        page.get_by_role("link", name="Check it here").click()
        page.get_by_label("The proof").wait_for()
        # The script is here when it has enabled its button.
        page.locator("#check button:enabled").wait_for()
        del asked[:]
        assert verdict(page) == "All of it holds.", name
        assert asked == [], "the browser does it by itself"
        told = page.locator("#results li").all_inner_texts()
        assert told[0].startswith("Signature: "), told
        assert any(line.startswith("Inclusion: ") for line in told), told
        seals = [line for line in told if line.startswith("Seal: ")]
        assert seals and all("dealt as it had been sealed" in line for line in seals), told
    assert_accessible(page, "check")
    page.screenshot(path=SHOTS / f"check-{width}-{scheme}.png", full_page=True)
    context.close()


def test_pl_28_a_proof_that_was_changed_is_refused_with_what_fails(browser, console):
    address, rounds = console
    context = patient(browser)
    page = enter(context, address)
    page.goto(f"{address}round/{rounds[1]}/check")
    other = page.get_by_label("The proof").input_value()
    page.goto(f"{address}round/{rounds[0]}/check")
    key, proof = page.get_by_label("public key").input_value(), page.get_by_label("The proof").input_value()
    head, note = proof.split("\n\n", 1)
    lines, records = head.split("\n"), proven(proof)
    path = base64.b64encode(bytes(32)).decode()

    def told(proof, key=key):
        page.get_by_label("public key").fill(key)
        page.get_by_label("The proof").fill(proof)
        return verdict(page)

    assert told(proof) == "All of it holds."
    signature = base64.b64decode(note.rstrip("\n").rpartition(" ")[2])
    forged = base64.b64encode(signature[:-1] + bytes([signature[-1] ^ 1])).decode()
    size = re.search(r"\n(\d+)\n", note)[1]
    assert "the signature is false" in told(head + "\n\n" + note.replace(note.rstrip("\n").rpartition(" ")[2], forged))
    assert "the signature is false" in told(head + "\n\n" + note.replace(f"\n{size}\n", f"\n{int(size) + 1}\n"))
    assert "is not in the log" in told("\n".join([*lines[:3], path, *lines[4:]]) + "\n\n" + note)
    changed = proven(proof)
    changed.records[0].record = changed.records[0].record[:-1] + bytes([changed.records[0].record[-1] ^ 1])
    assert "is not in the log" in told(with_records(lines, changed) + "\n\n" + note)
    assert "of another round" in told(other)
    # Whatever a proof calls itself, it's of the round that its records tell: no key is needed to call it otherwise.
    renamed = proven(other)
    renamed.round_id = rounds[0]
    number = rounds[0].rpartition("/")[2]
    otherwise = with_records(other.partition("\n\n")[0].split("\n"), renamed) + "\n\n" + other.partition("\n\n")[2]
    assert f"there is no bet of round {number}" in told(otherwise)
    # Without the records that sealed, as `motherlode proof --without-seals` has it.
    short = proven(proof)
    del short.sealing[:]
    assert told(with_records(lines, short) + "\n\n" + note).startswith("What is there holds. Not shown: ")
    assert "is not a proof" in told("nothing")
    assert "something in it" in told(proof.replace("extra ", "extra *"))
    assert "the key's id is not its own" in told(proof, re.sub(r"\+[0-9a-f]{8}\+", "+00000000+", key))
    assert "the key is none" in told(proof, "nobody")
    # A log whose signer says otherwise than what was sealed: all is signed and included, and yet it's told.
    resigned, own = log_of(key, records)
    assert told(resigned, own) == "All of it holds."
    last = records.records[-1]
    (dealt,) = {bytes(value) for event in log_pb2.Commit.FromString(last.record).events for value in event.draws_revealed.dealt}
    last.record = last.record.replace(dealt, bytes([dealt[0] ^ 1]) + dealt[1:])
    resigned, own = log_of(key, records)
    assert "was not dealt as it was sealed" in told(resigned, own)
    context.close()


def proven(proof):
    """What the extra part of a round's proof has."""
    extra = proof.partition("\nextra ")[2].partition("\n")[0]
    return proof_pb2.RoundRecords.FromString(base64.b64decode(extra))


def with_records(lines, records):
    """The head of a proof, with other records."""
    return "\n".join([lines[0], "extra " + base64.b64encode(records.SerializeToString()).decode(), *lines[2:]])


def log_of(vkey, records):
    """A proof of these records in a log of their own, signed by a new key of the same name; with that key."""
    name = vkey.partition("+")[0]
    signer = Ed25519PrivateKey.generate()
    public = b"\x01" + signer.public_key().public_bytes_raw()
    key_id = hashlib.sha256(name.encode() + b"\n" + public).digest()[:4]
    size = records.records[-1].position
    leaves = [hashlib.sha256(b"\0" + bytes(32)).digest()] * size
    for record in [*records.sealing, *records.records]:
        leaves[record.position - 1] = hashlib.sha256(b"\0" + hashlib.sha256(record.record).digest()).digest()
    for record in [*records.sealing, *records.records]:
        del record.path[:]
        record.path.extend(path(leaves, record.position - 1))
    head = ["c2sp.org/tlog-proof@v1", "", f"index {size - 1}"]
    head += [base64.b64encode(step).decode() for step in path(leaves, size - 1)]
    del records.records[-1].path[:]
    text = f"{name}\n{size}\n{base64.b64encode(root(leaves)).decode()}\n"
    signature = base64.b64encode(key_id + signer.sign(text.encode())).decode()
    proof = f"{with_records(head, records)}\n\n{text}\n\u2014 {name} {signature}\n"
    return proof, f"{name}+{key_id.hex()}+{base64.b64encode(public).decode()}"


def split(leaves):
    """The leaves of both halves of a tree (RFC 6962, section 2.1)."""
    left = 1 << (len(leaves) - 1).bit_length() - 1
    return leaves[:left], leaves[left:]


def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    left, right = split(leaves)
    return hashlib.sha256(b"\1" + root(left) + root(right)).digest()


def path(leaves, index):
    if len(leaves) == 1:
        return []
    left, right = split(leaves)
    if index < len(left):
        return [*path(left, index), root(right)]
    return [*path(right, index - len(left)), root(left)]
