import numpy as np
import pytest
import sp800_22
from sp800_22 import EXCURSIONS

PI = "1100100100001111110110101010001000100001011010001100001000110100110001001100011001100010100010111000"
LONGEST = (
    "11001100000101010110110001001100111000000000001001001101010100010001001111010110100000001101011111001100111001101101100010110010"
)


def bits(text):
    return np.array(list(text), dtype=np.uint8)


def split(low, high):
    if high - low == 1:
        return 1, high
    middle = (low + high) // 2
    (left, by), (right, over) = split(low, middle), split(middle, high)
    return left * over + right, by * over


@pytest.fixture(scope="module")
def e():
    above, below = split(0, 70_000)
    return bits(bin((above + below << 1_000_000) // below)[2:1_000_002])


@pytest.mark.parametrize(
    ("test", "text", "arguments", "wanted"),
    [
        (sp800_22.frequency, "1011010101", {}, [0.527089]),
        (sp800_22.frequency, PI, {}, [0.109599]),
        (sp800_22.block_frequency, PI, {"block": 10}, [0.706438]),
        (sp800_22.runs, PI, {}, [0.500798]),
        (sp800_22.longest_run, LONGEST, {}, [0.180598]),
        (sp800_22.non_overlapping_templates, "10100100101110010110", {"width": 3, "blocks": 2, "templates": [1]}, [0.344154]),
        (sp800_22.serial, "0011011101", {"width": 3}, [0.808792, 0.670320]),
        (sp800_22.approximate_entropy, "0100110101", {"width": 3}, [0.261961]),
        (sp800_22.approximate_entropy, PI, {"width": 2}, [0.235301]),
        (sp800_22.cumulative_sums, PI, {}, [0.219194, 0.114866]),
    ],
)
def test_an_example_of_the_document(test, text, arguments, wanted):
    assert test(bits(text), **arguments) == pytest.approx(wanted, abs=1.5e-6)


def test_the_excursions_of_the_document():
    example = bits("0110110101")
    excursions = sp800_22.random_excursions(example, judged=False)
    assert excursions[list(EXCURSIONS).index(1)] == pytest.approx(0.502529, abs=1e-4)
    assert sp800_22.random_excursions_variant(example, judged=False)[9] == pytest.approx(0.683091, abs=1.5e-6)


# Expected p-values from appendix B, and from the examples in sections 2.x.8.
OF_E = {
    sp800_22.frequency: [0.953749],
    sp800_22.block_frequency: [0.211072],
    sp800_22.runs: [0.561917],
    sp800_22.longest_run: [0.718945],
    sp800_22.rank: [0.306156],
    sp800_22.spectral: [0.847187],
    sp800_22.non_overlapping_templates: [0.078790] + 147 * [None],
    sp800_22.universal: [0.282568],
    sp800_22.serial: [0.766182, 0.462921],
    sp800_22.approximate_entropy: [0.700073],
    sp800_22.cumulative_sums: [0.669887, 0.724266],
    sp800_22.random_excursions: [0.573306, 0.197996, 0.164011, 0.007779, 0.786868, 0.440912, 0.797854, 0.778186],
    sp800_22.random_excursions_variant: 8 * [None] + [0.826009, 0.137861] + 8 * [None],
}


@pytest.mark.parametrize("test", OF_E, ids=lambda test: test.__name__)
def test_a_million_bits_of_e(e, test):
    found, wanted = test(e), OF_E[test]
    assert len(found) == len(wanted)
    for value, given in zip(found, wanted):
        assert given is None or value == pytest.approx(given, abs=1.5e-6)


def test_a_million_bits_of_e_with_the_documents_own_chances(e):
    approximate = (0.367879, 0.183940, 0.137955, 0.099634, 0.069935, 0.140656)
    assert sp800_22.overlapping_template(e, chances=approximate) == pytest.approx([0.110434], abs=5e-6)
    slip = (0.01047, *sp800_22.COMPLEXITY[1:])
    assert sp800_22.linear_complexity(e, chances=slip) == pytest.approx([0.826335], abs=1.5e-6)
    assert sp800_22.linear_complexity(e, block=1000, chances=slip) == pytest.approx([0.845406], abs=1.5e-6)


def test_other_widths_and_lengths_of_e(e):
    assert sp800_22.rank(e[:100_000]) == pytest.approx([0.532069], abs=1.5e-6)
    assert sp800_22.serial(e, width=2) == pytest.approx([0.843764, 0.561915], abs=1.5e-6)
