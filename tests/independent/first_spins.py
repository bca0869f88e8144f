from itertools import product

from witch_means import Means, chance, mean, returns

FIRST = (100, 500, 1000)
COMBINATIONS = [(0, 1, 2), (0, 1, 1), (0, 2, 2), (1, 1, 2)]
ALWAYS = ("base_lines", "free_spins")
PARTS = (*ALWAYS, "high_symbols", "random_wilds", "multiplier", "mega_wild", "explosion")


def first_spins(game):
    means, data, parts = Means(game), game.file.data, returns(game)
    features = [
        means.line(means.high),
        means.scattered_any(means.of_wilds, data["random_wilds"]["counts"]),
        mean(data["multiplier"]["counts"]) * means.respin / means.winning(),
        means.mega_wild(),
    ]
    exploded = means.scattered_any(means.replaced(game.strips, means.high), data["explosion"]["counts"])
    explosion = float(exploded * chance(data["explosion_chance"]))
    features = [float(of) for of in features]
    always, unlocked_rtp = (float(sum(parts[part] for part in of)) for of in (ALWAYS, PARTS))
    often, colours = float(chance(data["potions"]["chance"])), data["potions"]["colours"]
    reel = [(None, 1 - often)] + [(colour, often * weight / sum(colours)) for colour, weight in enumerate(colours)]

    def spin(unlocked, shelf):
        after, won = {}, always
        for landed in product(reel, repeat=3):
            share, potions, now = 1.0, list(shelf), unlocked
            for potion, of in landed:
                share *= of
                if potion is not None:
                    potions.append(potion)
            if len(potions) >= 3:
                three, potions = tuple(sorted(potions[:3])), potions[3:]
                place = COMBINATIONS.index(three) if three in COMBINATIONS else None
                if place is not None and place < unlocked:
                    won += share * features[place]
                    now = max(unlocked, min(place + 2, len(COMBINATIONS)))
                else:
                    won += share * explosion
            state = now, tuple(sorted(potions))
            after[state] = after.get(state, 0.0) + share
        return after, won

    known, states, total, spins, cost, found = {}, {(1, ()): 1.0}, 0.0, 0.0, 0.0, {}
    for number in range(1, 6_001):
        after = {}
        for state, share in states.items():
            if state not in known:
                known[state] = spin(*state)
            moves, won = known[state]
            total += share * won
            if state[0] < len(COMBINATIONS):
                spins += share
                cost += share * (unlocked_rtp - won)
            for to, of in moves.items():
                after[to] = after.get(to, 0.0) + share * of
        states = after
        if number in FIRST:
            found[f"new_player_{number}"] = total / number
    return {**found, "unlock_spins": spins, "unlock_cost_bets": cost}
