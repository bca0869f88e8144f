"""PL-28: `motherlode rng` passes NIST SP 800-22 and tests of scaled numbers, and generators known to be bad fail them.
Each of about 500 verdicts has a significance level of one in a million."""

import subprocess

import numpy as np
import pytest
import sp800_22
import scaled
from conftest import BINARY
from scipy.special import gammaincc
from scipy.stats import binom

SIGNIFICANCE = 1e-6
# Values of SP 800-22: a perfect generator fails a test in one of a hundred runs.
SEQUENCES, BITS, ALPHA = 100, 1_000_000, 0.01
BOUNDS = (2, 3, 5, 30, 32, 37, 64, 120, 1_000, 1_000_003, 3 << 30)
DRAWS_PER_SEED = 64


def export(seed, *arguments):
    command = [BINARY, "rng", *arguments, "--seed", f"{seed:064x}"]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def draws(seed, bound, count):
    return np.fromstring(export(seed, "--scaled", str(bound), "--count", str(count)), sep="\n", dtype=np.int64)


def sequences(data):
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8)).reshape(-1, BITS)


def verdicts(p_values):
    """Returns the probability that a perfect generator has at least as many p-values below ALPHA (SP 800-22, 4.2.1, exact
    binomial). From 55 sequences on, also returns the probability of p-values at least as uneven (4.2.2)."""
    failed = np.sum(p_values < ALPHA)
    yield binom.sf(failed - 1, len(p_values), ALPHA)
    if len(p_values) >= 55:
        counts, mean = np.bincount(np.minimum((p_values * 10).astype(int), 9), minlength=10), len(p_values) / 10
        yield gammaincc(9 / 2, np.sum((counts - mean) ** 2 / mean) / 2)


def worst(test, sequences):
    found = [p_values for p_values in map(test, sequences) if len(p_values)]
    return min((verdict for column in np.array(found).T for verdict in verdicts(column)), default=None)


@pytest.fixture(scope="module")
def raw():
    return sequences(export(1, "--bytes", str(SEQUENCES * BITS // 8)))


@pytest.mark.parametrize("test", sp800_22.ALL, ids=lambda test: test.__name__)
def test_pl_28_raw_bytes_pass_sp_800_22(raw, test):
    assert worst(test, raw) > SIGNIFICANCE


@pytest.mark.parametrize("bound", BOUNDS)
def test_pl_14_pl_28_scaled_numbers_pass(bound):
    numbers = draws(2, bound, 1_000_000)
    assert numbers.min() >= 0 and numbers.max() < bound
    for test in scaled.ALL:
        assert test(numbers, bound) > SIGNIFICANCE, test.__name__


@pytest.mark.parametrize("bound", (2, 32, 37))
def test_pl_14_pl_28_the_first_numbers_of_all_seeds_pass(bound):
    blocks = draws(3, bound, 100_000 * DRAWS_PER_SEED).reshape(-1, DRAWS_PER_SEED)
    for reel in range(5):
        for test in scaled.ALL:
            assert test(np.ascontiguousarray(blocks[:, reel]), bound) > SIGNIFICANCE, (reel, test.__name__)


def test_pl_28_no_seed_is_dealt_twice(raw):
    blocks = np.packbits(raw).tobytes()
    size = DRAWS_PER_SEED * 4
    blocks = [blocks[at : at + size] for at in range(0, len(blocks) - size + 1, size)]
    assert len(set(blocks)) == len(blocks)


def test_pl_28_a_master_gives_one_export_and_no_master_always_another():
    assert export(4, "--bytes", "1000") == export(4, "--bytes", "2000")[:1000] != export(5, "--bytes", "1000")
    fresh = [subprocess.run([BINARY, "rng", "--bytes", "32"], stdout=subprocess.PIPE).stdout for _ in range(3)]
    assert len(set(fresh)) == 3


def test_pl_28_without_a_count_it_writes_until_nobody_reads():
    for what in (("--bytes", "0"), ("--scaled", "32")):
        process = subprocess.Popen([BINARY, "rng", *what], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert len(process.stdout.read(1_000_000)) == 1_000_000
        process.stdout.close()
        assert (process.stderr.read(), process.wait(timeout=20)) == (b"", 0)



BAD_SEQUENCES = 20


def biased():
    return np.random.Generator(np.random.PCG64(1)).random((BAD_SEQUENCES, BITS)) < 0.505


def linear_congruential():
    state, words = 1, []
    for _ in range(BAD_SEQUENCES * BITS // 32 + 1):
        state = state * 65539 % 2**31
        words.append(state << 1)
    return np.unpackbits(np.array(words, dtype=">u4").view(np.uint8))[: BAD_SEQUENCES * BITS]


def shift_register():
    bits = np.zeros(BAD_SEQUENCES * BITS, dtype=np.uint8)
    bits[:31] = np.random.Generator(np.random.PCG64(2)).integers(0, 2, 31)
    for at in range(31, len(bits), 28):
        part = bits[at : at + 28]
        part[:] = bits[at - 31 : at - 31 + len(part)] ^ bits[at - 28 : at - 28 + len(part)]
    return bits


def few_seeds():
    dealt = np.random.Generator(np.random.PCG64(3))
    blocks = dealt.integers(0, 256, (256, DRAWS_PER_SEED * 4), dtype=np.uint8)
    data = blocks[dealt.integers(0, 256, BAD_SEQUENCES * BITS // 8 // blocks.shape[1] + 1)].tobytes()
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8))[: BAD_SEQUENCES * BITS]


BAD_RAW = {
    biased: (sp800_22.frequency, sp800_22.cumulative_sums),
    linear_congruential: (sp800_22.frequency, sp800_22.runs, sp800_22.rank, sp800_22.spectral, sp800_22.serial),
    shift_register: (sp800_22.linear_complexity, sp800_22.rank),
    few_seeds: (sp800_22.serial, sp800_22.approximate_entropy),
}


@pytest.mark.parametrize("bad", BAD_RAW, ids=lambda bad: bad.__name__)
def test_pl_28_sp_800_22_finds_a_bad_generator(bad):
    bits = bad().reshape(-1, BITS).astype(np.uint8)
    for test in BAD_RAW[bad]:
        assert worst(test, bits) < SIGNIFICANCE, test.__name__


def modulo(bound, random):
    return random.integers(0, 256, 1_000_000) % bound


def sticky(bound, random):
    numbers = random.integers(0, bound, 1_000_000)
    repeats = np.flatnonzero(random.random(len(numbers)) < 0.05)[1:]
    numbers[repeats] = numbers[repeats - 1]
    return numbers


def never_twice(bound, random):
    return random.permuted(np.tile(np.arange(bound), (1_000_000 // bound, 1)), axis=1).ravel()


def rising(bound, random):
    return np.sort(random.integers(0, bound, (500_000, 2)), axis=1).ravel()


BAD_SCALED = {
    modulo: (scaled.frequency, scaled.gap),
    sticky: (scaled.serial, scaled.gap, scaled.poker, scaled.runs),
    never_twice: (scaled.serial, scaled.gap, scaled.poker),
    rising: (scaled.serial, scaled.runs),
}


@pytest.mark.parametrize("bad", BAD_SCALED, ids=lambda bad: bad.__name__)
def test_pl_14_pl_28_the_tests_of_scaled_numbers_find_bad_draws(bad):
    numbers = bad(30, np.random.Generator(np.random.PCG64(4)))
    for test in BAD_SCALED[bad]:
        assert test(numbers, 30) < SIGNIFICANCE, test.__name__
