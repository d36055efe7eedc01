"""Voice over IP: what codecs send, and how a call sounds by the E-model of ITU-T G.107.

The transmission rating is R = Ro - Is - Id - Ie,eff + A (G.107 of 06/2015, equation 7-1). Only delay, loss and codec
vary here; every other parameter has the default of G.107, table 3, so that an undisturbed G.711 call has R = 93.2 and
a mean opinion score (MOS) of 4.41. Talker echo has the default loss of TELR = 65 dB and comes back after twice the
one-way delay: T = Ta, Tr = 2 Ta (G.107, clause 7.4, for a connection with one delay all the way).

Delays are in seconds, from mouth to ear unless they are said to be the network's; losses are fractions of packets.
"""

import math
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from btflow.analytic.checks import Real, not_negative, positive, probability, unwrap, whole
from btflow.errors import InputError

IP_HEADER, UDP_HEADER, RTP_HEADER = 20, 8, 12
"""Headers of a voice packet [B]: RFC 791, RFC 768, RFC 3550, section 5.1."""

HEADERS = IP_HEADER + UDP_HEADER + RTP_HEADER

MOST_LATE = 0.5
"""Share of the packets that a playout delay chosen by `playout` may leave behind."""


class Codec(NamedTuple):
    """A speech codec and how its frames are put into packets."""

    name: str
    bit_rate: float
    """Of the coded speech [bit/s]."""
    frame: float
    """Speech in a frame [s]; G.711 has no frames, so all of a packet is one."""
    frames: int
    """Frames in a packet."""
    lookahead: float
    """Speech the encoder needs beyond the frame [s]."""
    processing: float
    """Time to encode a frame [s]."""
    ie: float
    """Equipment impairment factor Ie without loss (ITU-T G.113, appendix I)."""
    bpl: float
    """Packet-loss robustness factor Bpl [%] (ITU-T G.113, appendix I)."""

    @property
    def interval(self) -> float:
        """Time between two packets [s]."""
        return self.frames * self.frame

    @property
    def payload(self) -> int:
        """Coded speech in a packet [B]."""
        return round(self.bit_rate * self.interval / 8)

    @property
    def packet(self) -> int:
        """A packet with IP, UDP and RTP headers [B]."""
        return self.payload + HEADERS

    @property
    def rate(self) -> float:
        """Rate of the packets, headers included [B/s]."""
        return self.packet / self.interval

    @property
    def sender_delay(self) -> float:
        """Age of a packet's first sample when the packet is sent [s]: its frames, the look-ahead and the coding."""
        return self.interval + self.lookahead + self.processing


CODECS = {
    # 64 kbit/s PCM, 20 ms a packet (RFC 3551, sections 4.2 and 4.5.14); with the concealment of G.711, appendix I
    "g711": Codec("G.711", 64e3, 20e-3, 1, 0.0, 0.0, 0.0, 25.1),
    "g711-no-plc": Codec("G.711 without loss concealment", 64e3, 20e-3, 1, 0.0, 0.0, 0.0, 4.3),
    # 8 kbit/s, frames of 10 ms and 10 B, two a packet, look-ahead 5 ms (ITU-T G.729; RFC 3551, section 4.5.6). Coding
    # takes as long as a frame: (N + 1) frames and the look-ahead, G.114, annex A. Ie and Bpl are those of annex A.
    "g729": Codec("G.729", 8e3, 10e-3, 2, 5e-3, 10e-3, 11.0, 19.0),
}
"""Codecs by name, with the packets most telephones send."""


def codec(name: str, frames: int | None = None) -> Codec:
    """Return a codec, with another number of frames in a packet than usual if `frames` says so.

    Raises:
        InputError: There is no such codec, or `frames` is not a whole number of at least 1.
    """
    if name not in CODECS:
        raise InputError("codec", name, "is not known", ", ".join(CODECS))
    found = CODECS[name]
    return found if frames is None else found._replace(frames=whole("frames", frames))


# G.107, table 3: default values.
_SLR, _RLR, _STMR, _DS, _DR = 8.0, 2.0, 15.0, 3.0, 3.0  # loudness, sidetone [dB], D-values of the telephones
_LSTR = _STMR + _DR
_WEPL, _QDU = 110.0, 1.0  # weighted echo path loss [dB], quantisation distortion units
_NC, _NFOR, _PS, _PR = -70.0, -64.0, 35.0, 35.0  # circuit noise [dBm0p], noise floor [dBmp], room noise [dB(A)]
TELR = 65.0
"""Talker echo loudness rating [dB]: how much weaker than the speech its echo comes back; infinity for no echo."""

_DELAY_FELT, _DELAY_SENSITIVITY = 0.1, 1.0  # mT [s] and sT, class "default" of G.107, table 1


def rating(
    codec: Codec, delay: ArrayLike, loss: ArrayLike = 0.0, *, burst_ratio: float = 1.0, telr: float = TELR
) -> Real:
    """Return the transmission rating R of a call, ITU-T G.107 (06/2015), clause 7.

    Args:
        codec: The codec, with its Ie and Bpl.
        delay: One-way delay from mouth to ear, Ta [s].
        loss: Share of the packets that are not played, Ppl, in [0, 1].
        burst_ratio: BurstR, mean length of the bursts of losses over what it were with independent losses; G.107 holds
            it to 1 to 2 or so.
        telr: Talker echo loudness rating [dB]; infinity if there is no echo.

    Raises:
        InputError: An argument is out of range.
    """
    late = not_negative("delay", delay)
    lost = probability("loss", loss, below=math.nextafter(1.0, 2.0), zero=True)
    burst, echo = float(positive("burst_ratio", burst_ratio)), float(positive("telr", telr, finite=False))
    noise = _noise()
    ro = 15.0 - 1.5 * (_SLR + noise)  # 7-2
    simultaneous = _loudness(noise) + _sidetone(late, echo) + _quantisation(ro)  # Is, 7-8
    delayed = _talker_echo(late, echo, noise) + _listener_echo(late, ro) + _pure_delay(late)  # Id, 7-18
    percent = 100.0 * lost
    equipment = codec.ie + (95.0 - codec.ie) * percent / (percent / burst + codec.bpl)  # Ie,eff, 7-29
    return unwrap(ro - simultaneous - delayed - equipment)


def score(rating: ArrayLike) -> Real:
    """Return the mean opinion score, 1 to 4.5, that belongs to a rating R (G.107, annex B, equation B-4).

    The cubic falls below 1 for R under 6.5, where the score is 1 here.
    """
    r = np.clip(np.asarray(rating, np.float64), 0.0, 100.0)
    return unwrap(np.maximum(1.0, 1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6))


def mos(codec: Codec, delay: ArrayLike, loss: ArrayLike = 0.0, burst_ratio: float = 1.0, *, telr: float = TELR) -> Real:
    """Return the mean opinion score of a call; see `rating` for the arguments."""
    return score(rating(codec, delay, loss, burst_ratio=burst_ratio, telr=telr))


def _noise() -> float:
    """No, the sum of all noise at the 0 dBr point [dBm0p] (7-3 to 7-7)."""
    loudness = _SLR + _RLR
    sender_room = _PS - _SLR - _DS - 100.0 + 0.004 * (_PS - loudness - _DS - 14.0) ** 2
    effective = _PR + 10.0 * math.log10(1.0 + 10.0 ** ((10.0 - _LSTR) / 10.0))
    receiver_room = _RLR - 121.0 + effective + 0.008 * (effective - 35.0) ** 2
    return 10.0 * math.log10(math.fsum(10.0 ** (n / 10.0) for n in (_NC, sender_room, receiver_room, _NFOR + _RLR)))


def _loudness(noise: float) -> float:
    """Iolr: the connection is too loud (7-9, 7-10)."""
    x = (_SLR + _RLR + 0.2 * (64.0 + noise - _RLR)) / 8.0
    return 20.0 * (math.pow(1.0 + x**8, 1.0 / 8.0) - x)


def _sidetone(delay: NDArray[np.float64], telr: float) -> NDArray[np.float64]:
    """Ist: the sidetone is not right (7-11, 7-12)."""
    t = 1000.0 * delay
    s = -10.0 * np.log10(10.0 ** (-_STMR / 10.0) + np.exp(-t / 4.0) * 10.0 ** (-telr / 10.0))
    low, high, more = ((s - 13.0) / 6.0) ** 8, ((s + 1.0) / 19.4) ** 35, ((s - 3.0) / 33.0) ** 13
    found = 12.0 * (1.0 + low) ** (1.0 / 8.0) - 28.0 * (1.0 + high) ** (1.0 / 35.0)
    return np.asarray(found - 13.0 * (1.0 + more) ** (1.0 / 13.0) + 29.0)


def _quantisation(ro: float) -> float:
    """Iq: quantising distortion (7-13 to 7-17)."""
    q = 37.0 - 15.0 * math.log10(_QDU)
    g = 1.07 + 0.258 * q + 0.0602 * q * q
    y, z = (ro - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0, 46.0 / 30.0 - g / 40.0
    return 15.0 * math.log10(1.0 + 10.0**y + 10.0**z)


def _talker_echo(delay: NDArray[np.float64], telr: float, noise: float) -> NDArray[np.float64]:
    """Idte: the talker hears himself, T after he spoke (7-19 to 7-22); 0 below 1 ms. STMR is between 9 and 20 dB."""
    t = 1000.0 * delay
    if math.isinf(telr):
        return np.zeros_like(t)
    heard = telr - 40.0 * np.log10((1.0 + t / 10.0) / (1.0 + t / 150.0)) + 6.0 * np.exp(-0.3 * t**2)
    less = -1.5 * (noise - _RLR) - (80.0 + 2.5 * (heard - 14.0))  # Roe - Re
    found = (less / 2.0 + np.sqrt(less**2 / 4.0 + 100.0) - 1.0) * (1.0 - np.exp(-t))
    return np.where(t < 1.0, 0.0, found)


def _listener_echo(delay: NDArray[np.float64], ro: float) -> NDArray[np.float64]:
    """Idle: the listener hears the talker twice, Tr apart (7-25, 7-26)."""
    less = ro - 10.5 * (_WEPL + 7.0) * (2000.0 * delay + 1.0) ** -0.25
    return np.asarray(less / 2.0 + np.sqrt(less**2 / 4.0 + 169.0))


def _pure_delay(delay: NDArray[np.float64]) -> NDArray[np.float64]:
    """Idd: the delay itself, felt from 100 ms on (7-27, 7-28)."""
    x = np.log2(np.maximum(delay, _DELAY_FELT) / _DELAY_FELT)
    power = 6.0 * _DELAY_SENSITIVITY
    found = (1.0 + x**power) ** (1.0 / power) - 3.0 * (1.0 + (x / 3.0) ** power) ** (1.0 / power) + 2.0
    return np.asarray(25.0 * found)


def mouth_to_ear(codec: Codec, network_delay: ArrayLike) -> Real:
    """Return the delay from mouth to ear [s] where packets are played `network_delay` [s] after they were sent.

    The first sample of a packet waits for the others and the look-ahead, then for the coding (G.114, annex A); it is
    played when a packet with this network delay arrives, so `network_delay` is that of the slowest packet that counts:
    the network's and the de-jitter buffer's together. Decoding, the operating system and sound hardware are left out.

    Raises:
        InputError: The delay is negative or not finite.
    """
    return unwrap(codec.sender_delay + not_negative("network_delay", network_delay))


class Playout(NamedTuple):
    """A call whose receiver plays every packet at one fixed time after it was sent."""

    network_delay: float
    """From sending a packet to playing it [s]: the network's delay and the wait in the de-jitter buffer."""
    delay: float
    """From mouth to ear [s]."""
    loss: float
    """Share of the packets that are lost or come too late."""
    rating: float
    """R."""
    mos: float
    """Mean opinion score."""


def playout(
    codec: Codec, delays: ArrayLike, *, quantile: float | None = None, burst_ratio: float = 1.0, telr: float = TELR
) -> Playout:
    """Return how a call sounds with a de-jitter buffer that gives every packet the same delay.

    A packet with a longer network delay than the playout delay comes too late and counts as lost, as in the model of a
    fixed de-jitter buffer of ITU-T G.1020, clause 7. The playout delay is the one with the highest rating R: longer
    costs delay, shorter costs late packets. That is the "minimum overall impairment" of Sun and Ifeachor, "New models
    for perceived voice quality prediction and their applications in playout buffer optimization for VoIP networks",
    IEEE ICC 2004; with one delay for the whole call, which a receiver would have to know beforehand, it is the best a
    fixed buffer can do. It leaves no more than MOST_LATE of the packets behind. With `quantile` the playout delay is
    that quantile of the network delay instead, so that a share of 1 - quantile comes late whatever the jitter.

    Args:
        codec: The codec.
        delays: Network delay of each packet [s]; NaN for a packet that was lost.
        quantile: Quantile of the delays of those that came, in (0, 1]; None for the best delay.
        burst_ratio: See `rating`.
        telr: See `rating`.

    Raises:
        InputError: An argument is out of range, or there is no packet.
    """
    sent = np.asarray(delays, np.float64).ravel()
    whole("number of packets", sent.size)
    came = np.sort(sent[~np.isnan(sent)])
    not_negative("delays", came)
    if not came.size:
        return Playout(math.inf, math.inf, 1.0, 0.0, 1.0)
    if quantile is None:
        most = max(1, int(MOST_LATE * came.size))
        late = np.unique(np.concatenate([[0], np.geomspace(1, most, 100).round()]).astype(int))
        times = came[came.size - 1 - late[late < came.size]]
    else:
        share = float(probability("quantile", quantile, below=math.nextafter(1.0, 2.0)))
        times = came[[math.ceil(share * came.size) - 1]]
    loss = 1.0 - np.searchsorted(came, times, side="right") / sent.size
    r = np.atleast_1d(rating(codec, mouth_to_ear(codec, times), loss, burst_ratio=burst_ratio, telr=telr))
    best = int(np.argmax(r))
    time = float(times[best])
    return Playout(
        time, float(mouth_to_ear(codec, time)), float(loss[best]), float(r[best]), float(score(float(r[best])))
    )


RECENT = 8.0
"""Speech that a score over time is of [s]: the shortest that opinions are measured on (ITU-T P.862.3, clause 7.1)."""


def recent_scores(codec: Codec, written: ArrayLike, delays: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
    """Return how a call sounded lately (times,): the mean opinion score of what was sent in the RECENT seconds before.

    Each is that of `playout` with the best delay for these packets, to 0.01, or 0.05 while the call is younger than
    that. NaN before the call and after it.

    Args:
        codec: The codec.
        written: When each packet was sent [s], `codec.interval` apart.
        delays: Network delay of each packet [s]; NaN for one that was lost.
        times: When to judge [s].
    """
    at = np.asarray(times, np.float64)
    size = round(RECENT / codec.interval)
    ends = np.searchsorted(np.asarray(written, np.float64), at, side="right")
    places = ends[:, None] + np.arange(-size, 0)
    padded = np.append(np.asarray(delays, np.float64), np.nan)
    found = np.sort(padded[np.where(places < 0, -1, places)], axis=1)  # those lost, and before the call, come last
    sent, came = np.minimum(ends, size), (~np.isnan(found)).sum(axis=1)
    late = np.unique(np.concatenate([[0], np.geomspace(1, max(1, int(MOST_LATE * size)), 100).round()]).astype(int))
    heard = came[:, None] - late
    allowed = (heard > 0) & (late <= np.maximum(MOST_LATE * came, 1)[:, None])
    played = np.where(allowed, np.take_along_axis(found, np.maximum(heard - 1, 0), axis=1), 0.0)
    loss = np.where(allowed, 1.0 - heard / np.maximum(sent, 1)[:, None], 1.0)
    grid = np.linspace(0.0, float(np.nanmax(played, initial=1e-3)), 512)  # in R delay and loss add up (7-1)
    late_by = np.interp(played, grid, rating(codec, mouth_to_ear(codec, grid)))
    best = np.where(allowed, late_by + rating(codec, 0.0, loss) - rating(codec, 0.0), 0.0).max(axis=1)
    scores = score(best)
    talks = (sent > 0) & (at <= np.asarray(written)[-1] + 2 * codec.interval)
    return np.asarray(np.where(talks, scores, np.nan))


class Jitter(NamedTuple):
    """Interarrival jitter of a stream of packets."""

    mean: float
    """Mean over the packets of the estimate after each [s]."""
    final: float
    """The estimate after the last packet [s], which is what an RTCP report carries."""


def jitter(transit: ArrayLike) -> Jitter:
    """Return the interarrival jitter of RFC 3550, section 6.4.1 and appendix A.8: J += (|D| - J) / 16, J = 0 at first.

    D is the difference of the transit times of two packets that came one after the other.

    Args:
        transit: Transit time of each packet, in order of arrival [s]; an offset common to all does not matter. NaN, a
            packet that was lost, is left out. Fewer than two packets have no jitter: 0.

    Raises:
        InputError: The transit times are not numbers.
    """
    try:
        times = np.asarray(transit, np.float64).ravel()
    except (TypeError, ValueError):
        raise InputError("transit", transit, "is not a number", "times in seconds") from None
    steps = np.abs(np.diff(times[~np.isnan(times)]))
    if not steps.size:
        return Jitter(0.0, 0.0)
    estimates = np.fromiter(accumulate(steps.tolist(), lambda j, d: j + (d - j) / 16.0, initial=0.0), np.float64)[1:]
    return Jitter(float(estimates.mean()), float(estimates[-1]))


class Call(NamedTuple):
    """What a voice call met in the network, and how it sounded."""

    delay_mean: float
    """Network delay of the packets that came [s]; NaN if none did."""
    delay_p50: float
    """Its median [s]."""
    delay_p95: float
    """Its 95th percentile [s]."""
    jitter: float
    """Mean of the RFC 3550 estimate [s]."""
    loss: float
    """Share of the packets that the network lost."""
    playout: Playout
    """How it sounded, late packets counted as lost."""


def call(codec: Codec, delays: ArrayLike, *, quantile: float | None = None) -> Call:
    """Return the figures of a call from the network delay of each packet [s], in order of sending; NaN is lost.

    Packets must not overtake one another for the jitter to be that of RFC 3550.

    Raises:
        InputError: As `playout`.
    """
    heard = playout(codec, delays, quantile=quantile)
    sent = np.asarray(delays, np.float64).ravel()
    came = sent[~np.isnan(sent)]
    mean, median, late = (came.mean(), *np.quantile(came, [0.5, 0.95])) if came.size else (math.nan,) * 3
    return Call(float(mean), float(median), float(late), jitter(sent).mean, 1.0 - came.size / sent.size, heard)
