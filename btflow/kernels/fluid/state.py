"""The state of a link experiment without packets: that of packets, and what flows beside it.

Rates are in segments (or ACKs) per second, what waits in them too, times in seconds; sizes with the framing of the
queue in bytes. The windows, the laws' constants and state, and all that is counted are in the records of packets
(kernels/link/state.py): laws and results are the same.
"""

from collections import namedtuple

import numpy as np

from btflow.kernels.table import record

# Passages of a flow: its data and its ACKs through up to two queues each.
PASSAGES = 4
ACKS = 2  # the first of the ACKs

LANE = record("""  # of each flow
    f8 plain  # round trip past all queues, crossing times included [s]
    f8 way  # of it the way of the data
    f8 trip  # round trip of now, queues included
    f8 owd  # of it the way of the data
    f8 opens  # when the connection is there
    f8 rest  # written by the application and not sent [segments]; FOREVER without end
    f8 budget_at  # ON_OFF: when the period with data begins that is or comes next
    f8 offers  # sent [segments/s]
    f8 rate  # what arrives [segments/s]
    f8 got  # what arrived, each byte once [segments]
    i8 lag  # steps until the window learns of it: half a round trip past all queues
    f8 known  # of what arrived, what the window has learnt of [segments]
    f8 credit  # of that, what no ACK was made for [segments]
    f8 noise  # place of this round's queue within its scatter
    i8 narrow  # the slowest queue of its data, NONE: there is none; and
    f8 crossing  # the time that a segment takes there [s]
    f8 place  # segments of this round that were acknowledged
    f8 began  # window at its begin
    f8 rose  # segments that the round before sent more than the one before that
    f8 spare  # segments for which the link had room in a round,
    f8 most  # ... one round before
    f8 apart  # time that its ACKs wait behind packets of others [s]
    i8 steered  # its round trip is what limits it
    f8 ends  # SIZED: when the last byte arrives, if all was sent
    # -- losses (hops.py)
    i8 lost  # segments lost, and not known to be
    f8 due  # segments lost, and not sent again; those not known to be among them
    f8 lost_at  # the first of them
    f8 last_at  # the last
    i8 again  # it is one that was sent again
    f8 answer  # when the sender answers
    f8 fires  # when its timer does
    i8 timer  # the answer is the timer's
    f8 silent  # from here to the timer nothing is sent
    f8 repaired  # end of the recovery
""")

HOP = record("""  # of each queue: what `flow.queues.step` reads and writes, and what comes
    f8 per_byte  # [s/B]
    f8 queue  # mean queue, not cut off [s]
    f8 control
    f8 room  # buffer [s]
    f8 spread  # [s]
    f8 full  # chance that the buffer is full
    f8 empty
    f8 seen  # mean queue, cut off at nothing and at the buffer [s]
    f8 drops
    f8 came  # [B/s]
    f8 packets  # [1/s]
    f8 slope  # of `came` by the queue [B/s^2]
    f8 away  # variance of what is on the way elsewhere [B2]
    f8 bursts  # of what comes in clusters [B2]
    f8 cut  # of `packets`, those that are dropped where it is full [1/s]
    f8 lossy  # of `came`, too [B/s]
    f8 packet  # mean size of what comes [B]
    f8 largest  # the largest of it [B]
    f8 left  # in this step [B]
    f8 part  # of what was there, what left in this step
    f8 held  # [B]
    f8 over  # part of it for which there is no room
    f8 arrived  # from the warm-up on [packets]
    f8 dropping  # packets lost, none of which a sender knows of yet; and
    f8 early  # those of them that came in the warm-up
""")

PASSAGE = record("""
    i8 queue  # NONE: there is none
    f8 wire  # size of a packet [B]
    f8 comes  # [packets/s]
    f8 drops  # chance that one is dropped where the buffer is full
    f8 leaves
    f8 held  # [packets]
""")

TIME = np.dtype([("step", "f8"), ("steps", "i8"), ("counted", "f8")])  # counted: part of a step after the warm-up [s]

# net: the state of packets; lane (flows,), hop (queues,), passage (flows, PASSAGES), time (1,); past (flows, steps):
# a ring of what had arrived after each of the last steps [segments]; queued and unused (queues, steps): of the
# mean queues then [s], and of the chance that they were empty
Fluid = namedtuple("Fluid", "net lane hop passage time past queued unused")
