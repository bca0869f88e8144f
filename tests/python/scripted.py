"""Rounds of the scripted dealer, and how each round must be displayed. The test fails if the description of a game
declares a feature (`declared`) that no round shows (`shown_by`)."""

from dataclasses import dataclass

from test_page import STAKES

from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import campaign_pb2, description_pb2, spin_pb2

SKIP, CLOSE, LEAVE = "skip", "close", "leave"


@dataclass(frozen=True)
class Script:
    rules: str
    bet: str = ""
    then: tuple = ()
    before: tuple = ()
    shows: tuple = ()
    coin: str = ""
    coins: int = 0
    lines: int = 0
    buys: bool = False
    witch: int = round_pb2.WITCH_WHITE
    end: str = SKIP
    campaign: bool = False


# A feature starts after three Potions at one bet level. The start of a feature unlocks the next feature (WF-11).
HIGH, WILDS, TIMES, MEGA = "spin HIGH_SYMBOLS", "spin RANDOM_WILDS", "spin MULTIPLIER_RESPIN", "spin MEGA_WILD"

SCRIPTS = {
    "bewitched": {
        "lines": Script("BW-01 BW-02 BW-03 BW-11 BW-12 BW-13 BW-14", "win LINE, over", shows=("Added to the jackpot",)),
        "dark-witch": Script("BW-05", "loss", witch=round_pb2.WITCH_DARK, shows=("the dark witch",)),
        "scatter": Script("BW-04 BW-10", "win SCATTER, over", shows=("Witches",)),
        "free-spins": Script("BW-04 BW-07 BW-08", "free-spins", (("start", "times 2"),), shows=("Free spin 1",)),
        "free-spins-again": Script("BW-09", "free-spins", (("start", "again"),), shows=("more",)),
        "prize-money": Script("BW-06", "pick", (("pick", "prize multiple"),), shows=("The bonus gives", "times the total bet", "combines the vials")),
        "prize-free-spins": Script("BW-06", "pick", (("pick", "prize free-spins"), ("start", "")), shows=("The bonus gives",)),
        "prize-in-free-spins": Script("BW-06 BW-10", "free-spins", (("start", "pick"), ("pick", "prize multiple"))),
        "sixty": Script("BW-09", "pick", (("pick", "left 60"), ("start", "")), shows=("Free spin 1",)),
        "jackpot": Script(
            "BW-06 BW-15 BW-16 BW-17 BW-18 BW-19 BW-20 BW-21", "pick", (("pick", "jackpot"),), coins=10, shows=("the progressive jackpot", "hit at log position")
        ),
        "jackpot-in-free-spins": Script("BW-15", "free-spins", (("start", "pick"), ("pick", "jackpot")), coins=10, shows=("Jackpot",)),
        "doubled": Script("BW-22 BW-24", "double", (("red", "right"), ("black", "right"), ("collect", "")), shows=("doubles on red heart",)),
        "doubled-five-times": Script("BW-22 BW-24", "double", (("red", "right"),) * 5, shows=("before",)),
        "doubled-and-lost": Script("BW-22 BW-23", "double", (("black", "wrong"),), shows=("wrong",)),
    },
    "dwarf-mine": {
        "ways": Script("DM-01 DM-02 DM-03 DM-04 DM-05", "rows 4, win WAYS, over", shows=("1,024 ways",)),
        "five-rows": Script("DM-06 DM-07 DM-08", "rows 5, win WAYS, over", shows=("3,125 ways",)),
        "six-rows": Script("DM-07", "rows 6, win WAYS, over", shows=("7,776 ways",)),
        "free-spins": Script("DM-01 DM-07 DM-10", "free-spins, rows 7", (("start", "win WAYS"),), shows=("Free spin 10",)),
        "crystals": Script("DM-09 DM-15 DM-16", "rows 6, marks 2, over", shows=("crystals",)),
        "gift": Script("DM-14", "carries red=3", shows=("Red: 3 of 5",)),
        **{
            f"collection-{colour}": Script(
                "DM-11 DM-12 DM-13 DM-15",
                f"rows 6, carries {colour}=0",
                (("start", "spin COLLECTION, win WAYS"),),
                before=tuple(f"carries {colour}={count}" for count in counts),
                shows=("Collection free spin 5", "coin value"),
            )
            for colour, counts in {"green": (1, 2, 3, 4), "yellow": (1, 2, 3, 4), "blue": (1, 2, 3, 4), "red": (4,)}.items()
        },
        "free-spins-and-collection": Script(
            "DM-13",
            "rows 7, carries red=0",
            (("start", "spin FREE"), ("start", "spin COLLECTION")),
            before=("carries red=4",),
            shows=("Free spin 10", "Collection free spin 5"),
        ),
        "below-a-cent": Script("DM-17", "win WAYS, over", coin="0.004", shows=("0.004",)),
        "skipped": Script("DM-21", "free-spins", shows=("the player skipped",)),
    },
    "mystery-elves": {
        "lines": Script("ME-01 ME-02 ME-03", "win LINE, over"),
        "bonus-values": Script("ME-04 ME-09", "marks 3, over"),
        "feature": Script("ME-10 ME-11 ME-13", "feature", (("start", ""),), shows=("Respin 1", "held")),
        **{
            f"feature-{name}": Script(
                "ME-05 ME-08", "feature", (("start", f"mark MYSTERY={bets}"),), buys=True, shows=(name.upper(), "Functions act")
            )
            for name, bets in {"mini": 20, "minor": 50, "major": 150, "grand": 1000}.items()
        },
        **{
            f"feature-times-{times}": Script(
                "ME-06 ME-07 ME-08", "feature", (("start", f"mark MULTIPLIER={times}"),), buys=True, shows=(f"×{times}", "Turned into values")
            )
            for times in (2, 3, 4, 5)
        },
        "full-screen": Script("ME-12", "marks 9", (("start", "times 2"),), buys=True, shows=("All held: win multiplied by 2",)),
        "bought": Script("ME-18", "feature", (("start", ""),), buys=True, shows=("with bought feature",)),
        "doubled": Script("ME-14 ME-17", "double", (("red", "right"), ("black", "right"), ("collect", "")), shows=("right",)),
        "doubled-by-the-joker": Script("ME-17", "double", (("red", "card JOKER"), ("collect", "")), shows=("joker",)),
        "doubled-by-a-diamond": Script("ME-17", "double", (("red", "card RED_DIAMOND"), ("collect", ""))),
        "doubled-by-a-club": Script("ME-17", "double", (("black", "card BLACK_CLUB"), ("collect", ""))),
        "doubled-ten-times": Script("ME-15", "double", (("red", "right"),) * 10, shows=("before",)),
        "doubled-and-lost": Script("ME-14 ME-15", "double", (("black", "wrong"),), shows=("wrong",)),
        "halved": Script("ME-16", "double", (("halve", ""), ("red", "wrong")), shows=("secures half of the win", "stays at risk")),
        "feature-doubled": Script("ME-14", "feature", (("start", "double"), ("red", "right"), ("collect", "")), buys=True),
    },
    "neptune": {
        "lines": Script("NP-01 NP-02 NP-03 NP-04", "win LINE, over"),
        "few-lines": Script("NP-01 NP-02", "win LINE, over", lines=5, coins=5, shows=("5 lines, coins per line: 5",)),
        "scatter": Script("NP-05", "win SCATTER, over", shows=("Mermaid",)),
        "free-spins": Script("NP-06 NP-07", "free-spins", (("start", "times 3, win LINE"),), shows=("×3",)),
        "free-spins-again": Script("NP-08", "free-spins", (("start", "more 10"),), shows=("10 free spins more",)),
        **{
            f"treasure-{needs}": Script(
                "NP-09 NP-10 NP-11 NP-12 NP-13", f"needs {needs}", (("pick", ""),), shows=("not picked,", "opened,", "opens the objects")
            )
            for needs in (3, 4, 5)
        },
        "treasure-in-free-spins": Script("NP-09 NP-13", "free-spins", (("start", "pick"), ("pick", ""))),
        "treasure-unopened": Script("NP-12", "pick", end=LEAVE, shows=("closed", "shown when the round is over")),
        "closed": Script("NP-12", "pick", end=CLOSE, shows=("closed the round (asked for)", "not picked,")),
    },
    "witch-feature": {
        "lines": Script("WF-01 WF-02 WF-03", "win LINE, over"),
        "potions": Script("WF-05 WF-12", "marks 2, over", shows=("Potion",)),
        "high-symbols": Script("WF-06 WF-07 WF-17 WF-18", HIGH, shows=("High Symbols",)),
        "random-wilds": Script("WF-08 WF-11", WILDS, before=(HIGH,), shows=("Random Wilds",)),
        **{
            f"times-{times}": Script("WF-09", f"{TIMES}, times {times}", before=(HIGH, WILDS), shows=("Multiplier", f"×{times}"))
            for times in (2, 3, 5, 8, 10)
        },
        "mega-wild": Script("WF-10 WF-11", f"{MEGA}, mark PLACED_WILD=3", before=(HIGH, WILDS, TIMES), shows=("Mega Wild",)),
        "two-mega-wilds": Script("WF-10", f"{MEGA}, mark PLACED_WILD=2", before=(HIGH, WILDS, TIMES), shows=("Mega Wild",)),
        "explosion": Script("WF-13", "spin EXPLOSION, win LINE", shows=("Explosion",)),
        "free-spins": Script("WF-14", "free-spins", (("start", ""),), shows=("Free spin 1",)),
        "one-more": Script("WF-16", "free-spins", (("start", "more 1"),), shows=("1 free spin more",)),
        "ten-more": Script("WF-16", "free-spins", (("start", "more 10"),), shows=("10 free spins more",)),
        **{
            f"free-{name}": Script("WF-15", "free-spins", (("start", kind),), shows=(words,))
            for name, kind, words in (
                ("high-symbols", HIGH, "High Symbols"),
                ("random-wilds", WILDS, "Random Wilds"),
                ("multiplier", TIMES, "Multiplier"),
                ("mega-wild", MEGA, "Mega Wild"),
            )
        },
        "free-two-at-once": Script("WF-15", "free-spins", (("start", f"{WILDS}, times 3"),), shows=("Random Wilds", "×3")),
    },
}

# Rules that are tested elsewhere, because the display of a round cannot show them.
ELSEWHERE = {
    "bewitched": "BW-25 BW-26 BW-27 BW-28 BW-29 BW-30",
    "dwarf-mine": "DM-18 DM-19 DM-20 DM-22 DM-23 DM-24 DM-25 DM-26",
    "mystery-elves": "ME-19 ME-20 ME-21 ME-22",
    "neptune": "NP-14",
    "witch-feature": "WF-04 WF-19 WF-20 WF-21 WF-22",
}

KINDS = {
    "bewitched": "spin BASE, spin FREE, awaits PICK, awaits FREE_SPINS, awaits DOUBLE, awaits NOTHING, choice pick, choice double, choice collect, "
    "choice start_free_spins, prize multiple, prize free_spins, prize jackpot, jackpot PAID, witch WHITE, witch DARK, card RED_HEART, "
    "card BLACK_SPADE, state SETTLED, choice spin",
    "dwarf-mine": "spin COLLECTION, mark CRYSTAL, cause SKIPPED",
    "mystery-elves": "spin HOLD_AND_WIN, mark BONUS, mark MYSTERY, mark MULTIPLIER, awaits FEATURE, choice start_feature, choice halve, "
    "card RED_DIAMOND, card BLACK_CLUB, card JOKER",
    "neptune": "cause CLOSED, state OPEN",
    "witch-feature": "spin HIGH_SYMBOLS, spin RANDOM_WILDS, spin MULTIPLIER_RESPIN, spin MEGA_WILD, spin EXPLOSION, mark POTION, "
    "mark PLACED_WILD, mark QUESTION",
    "platform": "state VOIDED, jackpot SET_ASIDE, jackpot PENDING, jackpot HELD, jackpot VOIDED",
    "nobody": "awaits SPIN, cause TIME_OVER",
}


def kinds_of(who):
    return set(KINDS[who].split(", "))


def all_kinds():

    def of(what, enum, prefix):
        return {f"{what} {name.removeprefix(prefix)}" for name in enum.keys() if not name.endswith("UNSPECIFIED")}

    def oneof(what, message):
        return {f"{what} {field.name}" for field in message.DESCRIPTOR.oneofs_by_name["kind"].fields}

    return (
        of("spin", round_pb2.SpinKind, "SPIN_KIND_")
        | of("mark", round_pb2.MarkKind, "MARK_KIND_")
        | of("awaits", round_pb2.Awaiting, "AWAITING_")
        | of("card", round_pb2.Card, "CARD_")
        | of("state", round_pb2.RoundState, "ROUND_STATE_")
        | of("jackpot", round_pb2.JackpotWin.State, "STATE_")
        | of("cause", round_pb2.Automatic.Cause, "CAUSE_")
        | of("witch", round_pb2.Witch, "WITCH_")
        | oneof("choice", round_pb2.Choice)
        | oneof("prize", round_pb2.Prize)
    )


def shown_by(game, round):
    shown = {f"state {round_pb2.RoundState.Name(round.state).removeprefix('ROUND_STATE_')}"}
    if round.witch:
        shown.add(f"witch {round_pb2.Witch.Name(round.witch).removeprefix('WITCH_')}")
    if round.stake.buy_feature:
        shown.add("a bought feature")
    shown |= {f"jackpot {round_pb2.JackpotWin.State.Name(won.state).removeprefix('STATE_')}" for won in round.jackpots}
    for step in round.steps:
        outcome, kind = step.outcome, step.choice.WhichOneof("kind")
        shown |= {f"choice {kind}", f"awaits {round_pb2.Awaiting.Name(outcome.awaiting).removeprefix('AWAITING_')}"}
        if step.HasField("automatic"):
            shown.add(f"cause {round_pb2.Automatic.Cause.Name(step.automatic.cause).removeprefix('CAUSE_')}")
        if outcome.HasField("prize"):
            shown.add(f"prize {outcome.prize.WhichOneof('kind')}")
        if outcome.HasField("card"):
            shown.add(f"card {round_pb2.Card.Name(outcome.card.drawn).removeprefix('CARD_')}")
            shown.add("a double that is right" if outcome.card.won else "a double that is wrong")
        if kind == "pick" and outcome.reveals:
            shown.add(f"a pick of {len(outcome.reveals)}")
            shown |= {"unopened objects"} if outcome.unopened else set()
        for spin in outcome.spins:
            shown |= of_spin(game, spin)
    return shown


def of_spin(game, spin):
    name = lambda symbol: game.symbols[symbol].name  # noqa: E731
    kind = round_pb2.SpinKind.Name(spin.kind).removeprefix("SPIN_KIND_")
    shown = {f"spin {kind}", f"{spin.rows} rows"}
    if kind == "FREE":
        shown.add(f"free spins times {spin.multiplier}")
        shown |= {f"{spin.free_spins_won} free spins more"} if spin.free_spins_won else set()
    if kind == "COLLECTION":
        shown.add(f"free spins with {name(spin.collection_symbol)}")
    if kind == "MULTIPLIER_RESPIN":
        shown.add(f"a factor of {spin.multiplier}")
    for win in spin.wins:
        shown.add("a win on a line" if win.line else "a win on ways" if win.ways else f"a win of {name(win.symbol)} anywhere")
    for mark in spin.marks:
        kind = round_pb2.MarkKind.Name(mark.kind).removeprefix("MARK_KIND_")
        shown.add(f"mark {kind}")
        if kind in ["CRYSTAL", "POTION"]:
            shown.add(f"{name(mark.value)} collected")
        if kind == "MYSTERY" and mark.name:
            shown.add(f"the special win {mark.name}")
        if kind == "MULTIPLIER" and mark.value:
            shown.add(f"a factor of {mark.value}")
        if kind == "PLACED_WILD":
            shown.add(f"a Wild of {mark.value} by {mark.value}")
    return shown


def declared(game):
    Role = description_pb2.SymbolRole
    shown = {"a win on a line"} if game.lines else {"a win on ways"}
    shown |= {f"{rows} rows" for rows in range(game.rows, game.rows_max + 1)}
    for symbol in game.symbols:
        shown |= {f"{symbol.name} collected"} if symbol.role == Role.SYMBOL_ROLE_COLLECTED else set()
        shown |= {f"free spins with {symbol.name}"} if symbol.role == Role.SYMBOL_ROLE_SUPER_HIGH else set()
        shown |= {"mark QUESTION"} if symbol.role == Role.SYMBOL_ROLE_QUESTION else set()
    shown |= {f"a win of {game.symbols[row.symbol].name} anywhere" for row in game.pay_rows if row.anywhere and row.pays}
    shown |= {f"the special win {special.name}" for special in game.special_wins}
    shown |= {f"a factor of {factor}" for factor in game.multipliers}
    if any(row.free_spins for row in game.pay_rows):
        shown.add(f"free spins times {max(game.free_spin_multiplier, 1)}")
    if game.HasField("picks") and not game.prizes:
        shown |= {f"a pick of {needs}" for needs in range(game.picks.needs_min, game.picks.needs_max + 1)} | {"unopened objects"}
    shown |= {f"prize {prize.WhichOneof('kind')}" for prize in game.prizes}
    if game.gambles_max:
        shown |= {"a double that is right", "a double that is wrong", "choice collect"}
    shown |= {"choice halve"} if game.halve else set()
    shown |= {"a bought feature"} if game.buy_feature_bets else set()
    shown |= {"jackpot PAID"} if game.jackpot else set()
    return shown


def play(client, name, game, script):
    player = client.fund(name, amount=100_000_000)
    for number, wish in enumerate(script.before):
        played = bet(client, player, game, script, f"before-{number}", wish)
        end(client, played, f"before-{number}", SKIP)
    played = bet(client, player, game, script, "bet", script.bet)
    for number, (choice, wish) in enumerate(script.then):
        metadata = [("motherlode-force", wish)] if wish else None
        played = client.choose(f"choice-{number}", played.round_id, chosen(choice, played.outcome), metadata=metadata)
    end(client, played, "bet", script.end)
    return played.round_id


def bet(client, player, game, script, request_id, wish):
    coin_value, lines, coins = STAKES[game]
    stake = round_pb2.Stake(
        coin_value=script.coin or coin_value,
        lines=script.lines or lines,
        coins_per_line=script.coins or coins,
        buy_feature=script.buys,
    )
    request = spin_pb2.SpinRequest(
        request_id=request_id,
        account=player,
        game=game,
        stake=None if script.campaign else stake,
        witch=script.witch if game == "bewitched" else round_pb2.WITCH_UNSPECIFIED,
        offer_double="double" in script.bet or any("double" in wish for _, wish in script.then),
        campaign_id="welcome" if script.campaign else "",
    )
    if script.campaign:
        grant = campaign_pb2.GrantCampaignRequest(
            request_id="grant", account=player, campaign_id="welcome", game=game, stake=stake, rounds=3
        )
        grant.expire_time.GetCurrentTime()
        grant.expire_time.seconds += 3600
        client.spins.GrantCampaign(grant)
    return client.spin(request, metadata=[("motherlode-force", wish)] if wish else None)


def chosen(choice, outcome):
    Choice = round_pb2.Choice
    match choice:
        case "pick":
            return Choice(pick=Choice.Pick(numbers=[*range(2, 2 + outcome.pick.needs)]))
        case "start" if outcome.awaiting == round_pb2.AWAITING_FEATURE:
            return Choice(start_feature=Choice.StartFeature())
        case "start":
            return Choice(start_free_spins=Choice.StartFreeSpins())
        case "red":
            return Choice(double=round_pb2.CARD_RED_HEART)
        case "black":
            return Choice(double=round_pb2.CARD_BLACK_SPADE)
        case "halve":
            return Choice(halve=Choice.Halve())
        case "collect":
            return Choice(collect=Choice.Collect())
    raise ValueError(choice)


def end(client, played, name, how):
    if played.state != round_pb2.ROUND_STATE_OPEN or how == LEAVE:
        return
    if how == CLOSE:
        client.spins.CloseRound(
            spin_pb2.CloseRoundRequest(request_id=f"end-{name}", round_id=played.round_id, reason="asked for", actor="ann")
        )
    else:
        client.spins.SkipRound(spin_pb2.SkipRoundRequest(request_id=f"end-{name}", round_id=played.round_id))
