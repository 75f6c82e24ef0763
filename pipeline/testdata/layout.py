#!/usr/bin/env python3
"""Writes layout.txt: what the comment of Layout says, done a second time.

PCG is PCG-DXSM with 128 bits of state, as described in
https://dotat.at/@/2023-06-21-pcg64-dxsm.html and used by math/rand/v2.
"""

M64 = (1 << 64) - 1
M128 = (1 << 128) - 1


class PCG:
    def __init__(self, hi, lo):
        self.state = hi << 64 | lo

    def next(self):
        self.state = (self.state * 0x2360ED051FC65DA44385DF649FCCF645 + 0x5851F42D4C957F2D14057B7EF767814F) & M128
        hi, lo = self.state >> 64, self.state & M64
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & M64
        hi ^= hi >> 48
        return hi * (lo | 1) & M64

    def below(self, n):
        return self.next() * n >> 64

    def shuffle(self, s):
        for i in range(len(s) - 1, 0, -1):
            j = self.below(i + 1)
            s[i], s[j] = s[j], s[i]


FILESYSTEMS = ["ext4", "xfs", "btrfs", "ext3"]


def layout(arms, filesystems, repeat, seed):
    names = "ABCDE"[:arms]
    grid = [f + "." + w for f in FILESYSTEMS[:filesystems] for w in ("w", "v")]
    print("arms", arms, "conditions", len(grid), "seed", seed)
    g = PCG(seed, 0)
    offset = g.below(arms)
    first = [(offset + c) % arms for c in range(len(grid))]
    g.shuffle(first)
    for block in range(1, repeat + 1):
        order = list(range(len(grid)))
        PCG(seed, block).shuffle(order)
        cells = []
        for c in order:
            start = (first[c] + block - 1) % arms
            cells += [grid[c] + "." + a for a in names[start:] + names[:start]]
        print("%d:" % block, *cells)


layout(2, 2, 4, 1)
layout(3, 4, 3, 7)
layout(1, 1, 2, 0)
layout(2, 4, 2, (1 << 64) - 1)
