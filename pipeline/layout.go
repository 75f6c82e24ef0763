package pipeline

import (
	"math/bits"
	"math/rand/v2"

	"spindle/reports/record"
)

// Block is one sample of every cell, in the order they are to run.
type Block struct {
	Index int // counted from 1
	Cells []record.Cell
}

// Grid gives the plan's conditions in their canonical order, which is that of
// reports: drive, then filesystem, scheduler and workload, each as in the
// file, the last changing fastest.
func (p *Plan) Grid() []record.Condition {
	var grid []record.Condition
	for _, d := range p.Conditions.Drive {
		for _, f := range p.Conditions.Filesystem {
			for _, s := range p.Conditions.Scheduler {
				for _, w := range p.Workloads {
					grid = append(grid, record.Condition{Drive: d, Filesystem: f, Scheduler: s, Workload: w.Slug()})
				}
			}
		}
	}
	return grid
}

// Layout lays the plan out in blocks. It is a function of the arms, the
// conditions, the number of blocks and the seed alone, and it stays as it is
// for ever: a run is resumed, and one from years ago done again, by it. More
// blocks leave the earlier ones as they were.
//
// Every block holds every cell once. Its conditions come in a random order,
// so that whatever drifts on the host meets all of them alike. The arms of a
// condition run one after the other, so that it meets them at nearly the same
// time, and their order turns by one from block to block: AB, BA, AB for two
// arms; ABC, BCA, CAB for three. So, over as many blocks as there are arms,
// each arm is first, second and so on once in every condition. Which arm a
// condition starts with in block 1 is drawn too, with every arm first in
// equally many conditions, or one more.
//
// The price of turning: an arm mostly follows the same arm. Every sample
// boots a fresh guest, so what one can hand to the next is the host's state
// only.
//
// The random numbers are those of [rand.PCG]. Stream 0 of the plan's seed
// draws the first arms, stream b the order of block b. Both shuffle by
// Fisher and Yates from the last element down, and take a number below n as
// the upper half of the 128-bit product of n and the next 64 bits.
func Layout(p *Plan) []Block {
	grid := p.Grid()
	first := firstArms(p.Seed, len(grid), len(p.Arms))
	blocks := make([]Block, p.Repeat)
	for i := range blocks {
		order := make([]int, len(grid))
		for c := range order {
			order[c] = c
		}
		index := i + 1
		shuffle(rand.NewPCG(p.Seed, uint64(index)), order)
		cells := make([]record.Cell, 0, len(grid)*len(p.Arms))
		for _, c := range order {
			for a := range p.Arms {
				arm := p.Arms[(first[c]+i+a)%len(p.Arms)]
				cells = append(cells, record.Cell{Arm: arm.Name, Condition: grid[c]})
			}
		}
		blocks[i] = Block{Index: index, Cells: cells}
	}
	return blocks
}

// firstArms draws the arm that each condition starts with in block 1.
func firstArms(seed uint64, conditions, arms int) []int {
	g := rand.NewPCG(seed, 0)
	offset := below(g, arms)
	first := make([]int, conditions)
	for c := range first {
		first[c] = (offset + c) % arms
	}
	shuffle(g, first)
	return first
}

func shuffle(g *rand.PCG, s []int) {
	for i := len(s) - 1; i > 0; i-- {
		j := below(g, i+1)
		s[i], s[j] = s[j], s[i]
	}
}

// below gives a number from 0 to n-1. It is uneven by less than n in 2⁶⁴.
// The methods of rand.Rand are not used: what they do with the bits is not
// promised to stay.
func below(g *rand.PCG, n int) int {
	hi, _ := bits.Mul64(g.Uint64(), uint64(n))
	return int(hi)
}
