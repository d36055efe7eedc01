"""The state of a link experiment without packets: that of packets, and what flows beside it.

Rates are in segments (or ACKs) per second, what waits in them too, times in seconds; sizes with the framing of the
queue in bytes. The windows, the laws' constants and state, and all that is counted are in the records of packets
(kernels/link/state.py): laws and results are the same.
"""

from collections import namedtuple

import numpy as np

# Passages of a flow: its data and its ACKs through up to two queues each.
PASSAGES = 4
ACKS = 2  # the first of the ACKs

LANE = np.dtype(  # of each flow
    [
        ("plain", "f8"),  # round trip past all queues, crossing times included [s]
        ("way", "f8"),  # of it the way of the data
        ("trip", "f8"),  # round trip of now, queues included
        ("owd", "f8"),  # of it the way of the data
        ("opens", "f8"),  # when the connection is there
        ("rest", "f8"),  # written by the application and not sent [segments]; FOREVER without end
        ("budget_at", "f8"),  # ON_OFF: when the period with data begins that is or comes next
        ("offers", "f8"),  # sent [segments/s]
        ("rate", "f8"),  # what arrives [segments/s]
        ("got", "f8"),  # what arrived, each byte once [segments]
        ("lag", "i8"),  # steps until the window learns of it: half a round trip past all queues
        ("known", "f8"),  # of what arrived, what the window has learnt of [segments]
        ("credit", "f8"),  # of that, what no ACK was made for [segments]
        ("noise", "f8"),  # place of this round's queue within its scatter
        ("narrow", "i8"),  # the slowest queue of its data, NONE: there is none; and
        ("crossing", "f8"),  # the time that a segment takes there [s]
        ("place", "f8"),  # segments of this round that were acknowledged
        ("began", "f8"),  # window at its begin
        ("rose", "f8"),  # segments that the round before sent more than the one before that
        ("spare", "f8"),  # segments for which the link had room in a round,
        ("most", "f8"),  # ... one round before
        ("apart", "f8"),  # time that its ACKs wait behind packets of others [s]
        ("steered", "i8"),  # its round trip is what limits it
        ("ends", "f8"),  # SIZED: when the last byte arrives, if all was sent
        # -- losses (hops.py)
        ("lost", "i8"),  # segments lost, and not known to be
        ("due", "f8"),  # segments lost, and not sent again; those not known to be among them
        ("lost_at", "f8"),  # the first of them
        ("last_at", "f8"),  # the last
        ("again", "i8"),  # it is one that was sent again
        ("answer", "f8"),  # when the sender answers
        ("fires", "f8"),  # when its timer does
        ("timer", "i8"),  # the answer is the timer's
        ("silent", "f8"),  # from here to the timer nothing is sent
        ("repaired", "f8"),  # end of the recovery
    ],
    align=True,
)

HOP = np.dtype(  # of each queue: what `flow.queues.step` reads and writes, and what comes
    [
        ("per_byte", "f8"),  # [s/B]
        ("queue", "f8"),  # mean queue, not cut off [s]
        ("control", "f8"),
        ("room", "f8"),  # buffer [s]
        ("spread", "f8"),  # [s]
        ("full", "f8"),  # chance that the buffer is full
        ("empty", "f8"),
        ("seen", "f8"),  # mean queue, cut off at nothing and at the buffer [s]
        ("drops", "f8"),
        ("came", "f8"),  # [B/s]
        ("packets", "f8"),  # [1/s]
        ("slope", "f8"),  # of `came` by the queue [B/s^2]
        ("away", "f8"),  # variance of what is on the way elsewhere [B2]
        ("bursts", "f8"),  # of what comes in clusters [B2]
        ("cut", "f8"),  # of `packets`, those that are dropped where it is full [1/s]
        ("lossy", "f8"),  # of `came`, too [B/s]
        ("packet", "f8"),  # mean size of what comes [B]
        ("largest", "f8"),  # the largest of it [B]
        ("left", "f8"),  # in this step [B]
        ("part", "f8"),  # of what was there, what left in this step
        ("held", "f8"),  # [B]
        ("over", "f8"),  # part of it for which there is no room
        ("arrived", "f8"),  # from the warm-up on [packets]
        ("dropping", "f8"),  # packets lost, none of which a sender knows of yet; and
        ("early", "f8"),  # those of them that came in the warm-up
    ],
    align=True,
)

PASSAGE = np.dtype(
    [
        ("queue", "i8"),  # NONE: there is none
        ("wire", "f8"),  # size of a packet [B]
        ("comes", "f8"),  # [packets/s]
        ("drops", "f8"),  # chance that one is dropped where the buffer is full
        ("leaves", "f8"),
        ("held", "f8"),  # [packets]
    ],
    align=True,
)

TIME = np.dtype([("step", "f8"), ("steps", "i8"), ("counted", "f8")])  # counted: part of a step after the warm-up [s]

# net: the state of packets; lane (flows,), hop (queues,), passage (flows, PASSAGES), time (1,); past (flows, steps):
# a ring of what had arrived after each of the last steps [segments]; queued and unused (queues, steps): of the
# mean queues then [s], and of the chance that they were empty
Fluid = namedtuple("Fluid", "net lane hop passage time past queued unused")
