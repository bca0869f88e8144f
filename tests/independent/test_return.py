from fractions import Fraction

import pytest
from games import GAMES, returns
from rounds import played


@pytest.mark.parametrize("name", GAMES)
def test_the_exact_return_counted_from_the_file_is_the_engines(name):
    game = GAMES[name]()
    (header,) = played(game, 0, seed=1)
    assert header["model_hash"] == game.file.hash
    counted = returns(name)
    assert counted
    assert counted == {part: Fraction(header["returns"][part]) for part in counted}
