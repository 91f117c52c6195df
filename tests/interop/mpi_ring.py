#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mpi_ring.py [FILE]: a ring and an all-to-all between MPI's ranks.

Each byte that arrives is checked: it tells who sent it, in which round and to
whom. Rank 0 prints how many bytes all ranks sent to other ranks. With FILE the
ranks stay alive until that file exists, so that others can look at them.
"""
import os
import sys
import time

from mpi4py import MPI

SIZES = (0, 1, 7, 64, 100, 1024, 4096, 8191, 16384, 65536, 262144, 1 << 20)
ROUNDS = 4
PERIOD = 251
comm = MPI.COMM_WORLD
me, ranks = comm.rank, comm.size
pattern = bytes(range(PERIOD)) * ((max(SIZES) // PERIOD) + 2)


def stamp(size, source, target, lap):
    """What `source` sends to `target` in that lap."""
    start = (source * 31 + target * 7 + lap * 101) % PERIOD
    return pattern[start:start + size]


def check(got, want, what):
    """End the whole job at the first byte that is wrong."""
    if got != want:
        at = next((i for i, pair in enumerate(zip(got, want))
                   if pair[0] != pair[1]), min(len(got), len(want)))
        print(f"rank {me}: {what}: wrong from byte {at}", flush=True)
        comm.Abort(1)


def ring(size, lap):
    """To the right, from the left: posted first, matched in any order."""
    left, right = (me - 1) % ranks, (me + 1) % ranks
    got = bytearray(size)
    request = comm.Irecv([got, MPI.BYTE], source=left, tag=lap)
    comm.Send([stamp(size, me, right, lap), MPI.BYTE], dest=right, tag=lap)
    status = MPI.Status()
    request.Wait(status)
    check(status.Get_count(MPI.BYTE).to_bytes(4, "little"),
          size.to_bytes(4, "little"), f"ring of {size} bytes: length")
    check(got, stamp(size, left, me, lap), f"ring of {size} bytes")
    return size


def all_to_all(size, lap):
    """Each rank to each rank."""
    out = b"".join(stamp(size, me, r, lap) for r in range(ranks))
    got = bytearray(size * ranks)
    comm.Alltoall([out, size, MPI.BYTE], [got, size, MPI.BYTE])
    want = b"".join(stamp(size, r, me, lap) for r in range(ranks))
    check(got, want, f"all-to-all of {size} bytes")
    return size * (ranks - 1)


def main():
    """All sizes in all rounds, then wait for the file if there is one."""
    moved = 0
    for size in SIZES:
        for lap in range(ROUNDS):
            moved += ring(size, lap)
            moved += all_to_all(size, lap)
    moved = comm.allreduce(moved)
    if me == 0:
        print(f"moved {moved} bytes between {ranks} ranks", flush=True)
    end = time.monotonic() + 60
    while len(sys.argv) > 1 and not os.path.exists(sys.argv[1]):
        if time.monotonic() > end:
            comm.Abort(2)
        time.sleep(0.05)


main()
