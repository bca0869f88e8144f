import json
import re
import subprocess
from decimal import Decimal
from xml.etree import ElementTree

import pytest
from conftest import BINARY

ROUNDS = 20_000
GAMES = {
    "bewitched": [],
    "dwarf-mine": [],
    "mystery-elves": ["--coins", "3"],
    "neptune": ["--lines", "7", "--coin-value", "0.05"],
    "witch-feature": [],
}


def par(game, *arguments):
    command = [BINARY, "par", game, *GAMES[game], *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, encoding="utf-8").stdout


@pytest.fixture(scope="module", params=GAMES)
def sheet(request):
    written = par(request.param, "--format", "html", "--rounds", str(ROUNDS))
    page = ElementTree.fromstring(written.removeprefix("<!DOCTYPE html>"))
    text = " ".join(" ".join(page.find("body").itertext()).split())
    return json.loads(par(request.param, "--format", "json")), page, text


def percent(fraction):
    return f"{Decimal(fraction).scaleb(2):f} %"


def test_the_parts_add_up_to_the_return(sheet):
    data, _, _ = sheet
    assert list(data)[:9] == [
        "game",
        "rules_version",
        "model_hash",
        "rtp",
        "rtp_parts",
        "hit_frequency",
        "std_dev",
        "max_win_bets",
        "max_win_probability",
    ]
    assert sum(map(Decimal, data["rtp_parts"].values())) == Decimal(data["rtp"])
    assert Decimal(data["max_win_probability"]) > 0
    for reels in data["reel_sets"]:
        counted = [[strip.count(row["symbol"]) for strip in reels["strips"]] for row in reels["symbol_counts"]]
        assert counted == [row["by_reel"] for row in reels["symbol_counts"]]
        assert [len(strip) for strip in reels["strips"]] == [sum(column) for column in zip(*counted)]


def test_the_page_says_the_exact_figures(sheet):
    data, _, text = sheet
    for said in ("game", "model_hash", "rules_version", "rules_date", "program_version", "exactness"):
        assert data[said] in text, said
    assert percent(data["rtp"]) in text and f"{data['std_dev']} bets" in text
    assert f"its chance {data['max_win_probability']}" in text
    for key, value in {**data["rtp_parts"], **data["conditional_rtps"]}.items():
        assert f"{key} {percent(value)}" in text, key
    for key, value in data["rates"].items():
        assert f"{key} {value}" in text, key
    for reels in data["reel_sets"]:
        assert f"Reels: {reels['title']}" in text
        for row in reels["symbol_counts"]:
            assert " ".join([row["symbol"], *map(str, row["by_reel"])]) in text
        for row in reels["combinations"]:
            assert re.search(rf"{row['count']} x {re.escape(row['symbol'])} [^%]*{row['probability']}", text), row
        for stop in (0, len(reels["strips"][0]) - 1):
            on = [strip[stop] for strip in reels["strips"] if stop < len(strip)]
            assert " ".join([str(stop), *on]) in text


def test_the_page_says_what_is_simulated_and_how_to_do_it_again(sheet):
    data, page, text = sheet
    assert f"This section is simulated, not exact: {ROUNDS:,} rounds" in text
    command = next(code.text for code in page.iter("code") if code.text.startswith("motherlode simulate"))
    again = subprocess.run(
        [BINARY, *command.split()[1:], "--format", "json"], stdout=subprocess.PIPE, check=True, text=True
    )
    again = json.loads(again.stdout)
    assert again["rounds"] == ROUNDS and again["stake"] == data["stake"]
    estimate = again["rtp_without_jackpot"]
    assert f"The simulated return is {estimate['simulated'] * 100:.4f} %, {estimate['sigmas']:+.2f} standard errors" in text
    classes = [table for table in page.iter("table") if "win of a round" in "".join(table.find("thead").itertext())]
    counts = [int(row.findall("td")[0].text.replace(",", "")) for row in classes[0].find("tbody")]
    assert sum(counts) == ROUNDS


def test_the_page_refers_to_nothing_outside_itself(sheet):
    _, page, _ = sheet
    for element in page.iter():
        assert element.tag not in ("script", "link", "img", "iframe", "object", "embed", "base", "use", "image")
        assert not {"src", "href", "srcset", "style", "background"} & set(element.attrib)
    styles = "".join(style.text for style in page.iter("style"))
    assert "url(" not in styles and "@import" not in styles
    written = ElementTree.tostring(page, encoding="unicode")
    assert "//" not in written


def test_a_file_is_what_would_be_printed(tmp_path):
    file = tmp_path / "sheet.json"
    assert par("neptune", "--format", "json", "--out", str(file)) == ""
    assert file.read_text(encoding="utf-8") == par("neptune", "--format", "json")


def test_mf_d8_the_distribution_of_wins_is_of_the_rounds_asked_for():
    wins = json.loads(par("bewitched", "--format", "json", "--rounds", "5000"))["win_distribution"]
    assert sum(of["rounds"] for of in wins["classes"]) == wins["rounds"] == 5_000
