import pathlib

import draws

RULES = pathlib.Path(__file__).parents[2] / "engine/state/tests/integration/draw_rules.rs"


def test_pl_06_the_engine_is_held_to_these_answers():
    text = "".join(RULES.read_text().replace("\\\n", "").split())
    for key, operator, player, number, client_seed, round_number, step in draws.KNOWN:
        dealt = draws.deal(key, f"player/{operator}/{player}", number)
        seed = draws.seed(dealt, client_seed, f"{operator}/{player}/{round_number}", step)
        answers = [draws.epoch(key), dealt, draws.seal(dealt), seed]
        assert "".join(answer.hex() for answer in answers) in text
