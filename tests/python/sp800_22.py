"""The fifteen tests of NIST SP 800-22 rev. 1a (2010), in the order of its sections.

Each test takes an array of bits and returns p-values; the list is empty if the sequence has too few cycles (2.14, 2.15).
Parameters are for a million bits, as in appendix B.
"""

from math import floor, log, sqrt

import numpy as np
from scipy.special import erfc, gammaincc, ndtr


def chi_square_p(counts, expected, freedom=None):
    chi_square = np.sum((counts - expected) ** 2 / expected, axis=-1)
    return gammaincc((np.shape(counts)[-1] - 1 if freedom is None else freedom) / 2, chi_square / 2)


def words(bits, width):
    if width == 1:
        return bits.astype(np.uint32)
    half = words(bits, width // 2)
    values = half[: len(half) - width // 2] << width // 2 | half[width // 2 :]
    return values[:-1] << 1 | bits[width - 1 :] if width % 2 else values


def longest_runs(blocks):
    rows, width = blocks.shape
    edges = np.diff(np.pad(blocks.astype(np.int8), ((0, 0), (1, 1))).ravel())
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    longest = np.zeros(rows, dtype=np.int64)
    np.maximum.at(longest, starts // (width + 2), ends - starts)
    return longest


def frequency(bits):
    return np.array([erfc(abs(2 * bits.sum(dtype=np.int64) - len(bits)) / sqrt(2 * len(bits)))])


def block_frequency(bits, block=128):
    blocks = bits[: len(bits) // block * block].reshape(-1, block)
    chi_square = 4 * block * np.sum((blocks.mean(axis=1) - 0.5) ** 2)
    return np.array([gammaincc(len(blocks) / 2, chi_square / 2)])


def runs(bits):
    size, share = len(bits), bits.mean()
    if abs(share - 0.5) >= 2 / sqrt(size):
        return np.array([0.0])
    count = 1 + np.count_nonzero(np.diff(bits))
    spread = 2 * sqrt(2 * size) * share * (1 - share)
    return np.array([erfc(abs(count - 2 * size * share * (1 - share)) / spread)])


LONGEST_RUNS = (
    # Minimum number of bits, block length, run length of the lowest class, and probabilities of the classes (2.4.4 and
    # 3.4).
    (750_000, 10_000, 10, (0.0882, 0.2092, 0.2483, 0.1933, 0.1208, 0.0675, 0.0727)),
    (6_272, 128, 4, (0.1174, 0.2430, 0.2493, 0.1752, 0.1027, 0.1124)),
    (128, 8, 1, (0.2148, 0.3672, 0.2305, 0.1875)),
)


def longest_run(bits):
    _, block, shortest, chances = next(row for row in LONGEST_RUNS if len(bits) >= row[0])
    longest = longest_runs(bits[: len(bits) // block * block].reshape(-1, block))
    classes = np.clip(longest - shortest, 0, len(chances) - 1)
    counts = np.bincount(classes, minlength=len(chances))
    return np.array([chi_square_p(counts, len(longest) * np.array(chances))])


def ranks(rows):
    rows, which = rows.copy(), np.arange(len(rows))
    used = np.zeros(rows.shape, dtype=bool)
    for bit in range(32):
        has = rows >> bit & 1 == 1
        free = has & ~used
        pivot, found = free.argmax(axis=1), free.any(axis=1)
        used[which[found], pivot[found]] = True
        has[which, pivot] = False
        rows ^= np.where(has & found[:, None], rows[which, pivot][:, None], 0)
    return used.sum(axis=1)


def rank(bits):
    matrices = len(bits) // 1024
    rank = ranks(np.packbits(bits[: matrices * 1024]).view(">u4").astype(np.uint32).reshape(matrices, 32))
    full = np.prod([1 - 2.0**-i for i in range(1, 33)])
    less_one = 2.0**-1 * np.prod([1 - 2.0**-i for i in range(2, 33)]) * (1 - 2.0**-32) / (1 - 2.0**-1)
    counts = np.array([np.sum(rank == 32), np.sum(rank == 31), np.sum(rank < 31)])
    return np.array([chi_square_p(counts, matrices * np.array([full, less_one, 1 - full - less_one]))])


def spectral(bits):
    size = len(bits)
    peaks = np.abs(np.fft.rfft(2.0 * bits - 1))[: size // 2]
    below, expected = np.sum(peaks < sqrt(size * log(20))), 0.95 * size / 2
    return np.array([erfc(abs(below - expected) / sqrt(size * 0.95 * 0.05 / 4) / sqrt(2))])


def aperiodic(width):
    overlaps = lambda of, by: of >> by == of & (1 << (width - by)) - 1  # noqa: E731
    return [of for of in range(1 << width) if not any(overlaps(of, by) for by in range(1, width))]


def non_overlapping_templates(bits, width=9, blocks=8, templates=None):
    templates, block = templates or aperiodic(width), len(bits) // blocks
    counts = [np.bincount(words(part, width), minlength=1 << width) for part in bits[: blocks * block].reshape(blocks, -1)]
    mean = (block - width + 1) / 2**width
    variance = block * (1 / 2**width - (2 * width - 1) / 2 ** (2 * width))
    chi_square = np.sum((np.array(counts)[:, templates] - mean) ** 2, axis=0) / variance
    return gammaincc(blocks / 2, chi_square / 2)


# Probabilities from the source of NIST's program. The probabilities in section 3.8 are too inaccurate for a million bits.
OVERLAPPING = (0.364091, 0.185659, 0.139381, 0.100571, 0.0704323, 0.139865)


def overlapping_template(bits, width=9, block=1032, chances=OVERLAPPING):
    blocks = bits[: len(bits) // block * block].reshape(-1, block)
    hits = np.ones((len(blocks), block - width + 1), dtype=np.uint8)
    for place in range(width):
        hits &= blocks[:, place : place + hits.shape[1]]
    counts = np.bincount(np.minimum(hits.sum(axis=1), 5), minlength=6)
    return np.array([chi_square_p(counts, len(blocks) * np.array(chances))])


def universal(bits, width=7, first=1280):
    mean, variance = 6.1962507, 3.125
    codes = words(bits, width)[::width]
    order = np.argsort(codes, kind="stable")
    before = np.full(len(codes), -1)
    same = codes[order[1:]] == codes[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    distances = (np.arange(len(codes)) - before)[first:]
    tested = len(distances)
    shape = 0.7 - 0.8 / width + (4 + 32 / width) * tested ** (-3 / width) / 15
    found = np.log2(distances).sum() / tested
    return np.array([erfc(abs(found - mean) / (sqrt(2) * shape * sqrt(variance / tested)))])


def complexities(blocks):
    """Runs the Berlekamp-Massey algorithm on all rows at once: `taps[j]` has the j-th coefficient of each row's register.
    """
    rows, width = blocks.shape
    slices = np.packbits(blocks.T, axis=1)
    taps = np.zeros((width + 1, slices.shape[1]), dtype=np.uint8)
    taps[0] = 255
    old, length = taps.copy(), np.zeros(slices.shape[1] * 8, dtype=np.int64)
    for step in range(width):
        old = np.roll(old, 1, axis=0)
        old[0] = 0
        wrong = np.bitwise_xor.reduce(taps[: step + 1] & slices[step::-1], axis=0)
        grows = (np.unpackbits(wrong) == 1) & (2 * length <= step)
        length[grows] = step + 1 - length[grows]
        mask = np.packbits(grows)
        changed = taps ^ (old & wrong)
        old = old & ~mask | taps & mask
        taps = changed
    return length[:rows]


COMPLEXITY = (0.010417, 0.03125, 0.125, 0.5, 0.25, 0.0625, 0.020833)


def linear_complexity(bits, block=500, chances=COMPLEXITY):
    found = complexities(bits[: len(bits) // block * block].reshape(-1, block))
    mean = block / 2 + (9 + (-1) ** (block + 1)) / 36 - (block / 3 + 2 / 9) / 2.0**block
    off = (-1) ** block * (found - mean) + 2 / 9
    counts = np.bincount(np.clip(np.ceil(off + 2.5), 0, 6).astype(int), minlength=7)
    return np.array([chi_square_p(counts, len(found) * np.array(chances))])


def pattern_counts(bits, width):
    return np.bincount(words(np.concatenate([bits, bits[: width - 1]]), width), minlength=1 << width)


def shorter(counts):
    return counts.reshape(-1, 2).sum(axis=1)


def serial(bits, width=16):
    def psi(counts):
        return (counts.astype(float) ** 2).sum() * len(counts) / len(bits) - len(bits)

    counts = pattern_counts(bits, width)
    most, less, least = psi(counts), psi(shorter(counts)), psi(shorter(shorter(counts)))
    once, twice = most - less, most - 2 * less + least
    return np.array([gammaincc(2.0 ** (width - 2), once / 2), gammaincc(2.0 ** (width - 3), twice / 2)])


def approximate_entropy(bits, width=10):
    def phi(counts):
        shares = counts[counts > 0] / len(bits)
        return np.sum(shares * np.log(shares))

    counts = pattern_counts(bits, width + 1)
    chi_square = 2 * len(bits) * (log(2) - (phi(shorter(counts)) - phi(counts)))
    return np.array([gammaincc(2.0 ** (width - 1), chi_square / 2)])


def cumulative_sums(bits):
    def p_value(steps):
        size, far = len(steps), int(np.abs(np.cumsum(steps)).max())
        root = sqrt(size)
        inner = np.arange(floor((-size / far + 1) / 4), floor((size / far - 1) / 4) + 1)
        outer = np.arange(floor((-size / far - 3) / 4), floor((size / far - 1) / 4) + 1)
        return (
            1
            - np.sum(ndtr((4 * inner + 1) * far / root) - ndtr((4 * inner - 1) * far / root))
            + np.sum(ndtr((4 * outer + 3) * far / root) - ndtr((4 * outer + 1) * far / root))
        )

    steps = 2 * bits.astype(np.int64) - 1
    return np.array([p_value(steps), p_value(steps[::-1])])


def walk(bits):
    at = np.cumsum(2 * bits.astype(np.int64) - 1)
    at = np.append(at, 0) if at[-1] else at
    cycle = np.cumsum(at == 0)
    return at, np.append(0, cycle[:-1]), int(cycle[-1])


def too_few_cycles(cycles, size):
    return cycles < max(0.005 * sqrt(size), 500)


EXCURSIONS = np.array([-4, -3, -2, -1, 1, 2, 3, 4])


def random_excursions(bits, judged=True):
    at, cycle, cycles = walk(bits)
    if judged and too_few_cycles(cycles, len(bits)):
        return np.array([])

    def p_value(state):
        stay = 1 - 1 / (2 * abs(state))
        chances = [stay, *((1 - stay) ** 2 * stay**k for k in range(4)), (1 - stay) * stay**4]
        visits = np.bincount(cycle[at == state], minlength=cycles)
        counts = np.bincount(np.minimum(visits, 5), minlength=6)
        return chi_square_p(counts, cycles * np.array(chances))

    return np.array([p_value(state) for state in EXCURSIONS])


def random_excursions_variant(bits, judged=True):
    at, _, cycles = walk(bits)
    if judged and too_few_cycles(cycles, len(bits)):
        return np.array([])
    states = [state for state in range(-9, 10) if state]
    return np.array([erfc(abs(np.sum(at == x) - cycles) / sqrt(2 * cycles * (4 * abs(x) - 2))) for x in states])


ALL = (
    frequency,
    block_frequency,
    runs,
    longest_run,
    rank,
    spectral,
    non_overlapping_templates,
    overlapping_template,
    universal,
    linear_complexity,
    serial,
    approximate_entropy,
    cumulative_sums,
    random_excursions,
    random_excursions_variant,
)
