import pytest
from games import VERSIONS

EXACT = ("test_return.py", "test_cash.py")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name in EXACT:
            (game,) = (game.NAME for game in VERSIONS if game.NAME in item.name)
            item.add_marker(pytest.mark.xdist_group(game))
