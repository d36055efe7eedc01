"""Random numbers from a generator owned by the swarm: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), state `rng[0]`."""

import numpy as np

from btflow.kernels.compiler.jit import kernel

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


NEVER = 1 << 60


@kernel
def next_u64(rng):
    """Next 64 random bits; advances `rng`."""
    rng[0] = rng[0] + _GAMMA
    z = rng[0]
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


@kernel
def uniform(rng):
    """Uniform float in [0, 1)."""
    return float(next_u64(rng) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def below(rng, n):
    """Uniform integer in [0, n)."""
    return int(uniform(rng) * n)


@kernel
def shuffle(rng, a, n):
    """Shuffle a[:n] in place (Fisher-Yates)."""
    for i in range(n - 1, 0, -1):
        j = below(rng, i + 1)
        a[i], a[j] = a[j], a[i]


@kernel
def geometric(rng, p):
    """Number of trials up to and including the first success of probability `p`; NEVER if p is (next to) 0."""
    if p <= 0.0:
        return NEVER
    return first_success(rng, np.log1p(-p))


@kernel
def first_success(rng, log_failure):
    """`geometric`, of which the logarithm of a failure's probability is known."""
    return int(min(np.log(1.0 - uniform(rng)) / log_failure, float(NEVER))) + 1


@kernel
def all_of(p, n):
    """Chance that `n` trials of probability `p` all succeed; a few products cost less than a power."""
    chance = 1.0
    for _ in range(int(n)):
        chance *= p
        if chance < 1e-18:
            break
    return chance
