"""Tests of random numbers from 0 to bound-1 (Knuth, The Art of Computer Programming, vol. 2, 3.3.2, A to G). Each
test returns a p-value, which is exact even for small bounds."""

from math import comb

import numpy as np
from scipy.special import gammaincc

# Minimum number of draws expected per class of the chi-square test.
EXPECTED_MIN = 10
CLASSES_MAX = 64


def fit(counts, chances):
    counts, expected = np.asarray(counts, dtype=float), np.sum(counts) * np.asarray(chances, dtype=float)
    assert abs(sum(chances) - 1) < 1e-9
    merged = [[0.0, 0.0]]
    for count, wanted in zip(counts, expected):
        if merged[-1][1] >= EXPECTED_MIN:
            merged.append([0.0, 0.0])
        merged[-1][0] += count
        merged[-1][1] += wanted
    if len(merged) > 1 and merged[-1][1] < EXPECTED_MIN:
        count, wanted = merged.pop()
        merged[-1][0] += count
        merged[-1][1] += wanted
    assert len(merged) > 1, "too few numbers for this test"
    counts, expected = np.array(merged).T
    return float(gammaincc((len(counts) - 1) / 2, np.sum((counts - expected) ** 2 / expected) / 2))


def classes(numbers, bound):
    of = min(bound, CLASSES_MAX)
    sizes = np.array([-(-(place + 1) * bound // of) - -(-place * bound // of) for place in range(of)])
    return numbers * of // bound, sizes / bound


def frequency(numbers, bound):
    found, chances = classes(numbers, bound)
    return fit(np.bincount(found, minlength=len(chances)), chances)


def serial(numbers, bound):
    found, chances = classes(numbers, bound)
    pairs = found[: len(found) // 2 * 2].reshape(-1, 2)
    counts = np.bincount(pairs[:, 0] * len(chances) + pairs[:, 1], minlength=len(chances) ** 2)
    return fit(counts, np.outer(chances, chances).ravel())


def gap(numbers, bound):
    within = max(bound // 2, 1)
    gaps = np.diff(np.flatnonzero(numbers < within)) - 1
    hit, longest = within / bound, 64
    chances = [hit * (1 - hit) ** length for length in range(longest)]
    return fit(np.bincount(np.minimum(gaps, longest), minlength=longest + 1), [*chances, (1 - hit) ** longest])


def poker(numbers, bound):
    found, chances = classes(numbers, bound)
    hands = np.sort(found[: len(found) // 5 * 5].reshape(-1, 5), axis=1)
    different = 1 + np.count_nonzero(np.diff(hands, axis=1), axis=1)
    return fit(np.bincount(different - 1, minlength=5), different_chances(chances))


def different_chances(chances, hand=5):
    # ways[n][k]: probability that n numbers of the hand are still to be drawn, and the drawn numbers have k different
    # classes.
    ways = np.zeros((hand + 1, hand + 1))
    ways[hand][0] = 1
    for chance in chances:
        more = ways.copy()
        for left in range(1, hand + 1):
            for taken in range(1, left + 1):
                more[left - taken][1:] += ways[left][:-1] * comb(left, taken) * chance**taken
        ways = more
    return ways[0][1:]


def runs(numbers, bound):
    """G. Ascending runs. The number that ends a run is skipped, so that runs are independent. A run is at least k long
    with the probability comb(bound, k) / bound ** k."""
    longest = min(bound, 10)
    at_least = [comb(bound, length) / bound**length for length in range(1, longest + 1)]
    chances = -np.diff([*at_least, 0.0])
    ends = np.append(np.flatnonzero(np.diff(numbers) <= 0), len(numbers) - 1)
    lengths, start = [], 0
    for end in ends.tolist():
        if end >= start:
            lengths.append(end - start + 1)
            start = end + 2
    return fit(np.bincount(np.minimum(lengths, longest) - 1, minlength=longest), chances)


ALL = (frequency, serial, gap, poker, runs)
