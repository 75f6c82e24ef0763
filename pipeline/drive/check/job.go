package check

import (
	"fmt"
	"time"

	"spindle/internal/unit"
)

// Load is one kind of load.
type Load struct {
	Name  string
	RW    string // fio's name of the pattern
	Block unit.Size
	Depth int
	inner bool // at the end of the drive, else at its start or all over it
	Fsync bool // after each write
	Bytes bool // the figure is a rate of bytes, else of requests
}

// loads gives the loads for a drive of that queue depth.
func loads(depth int) []Load {
	list := []Load{
		{Name: "sequential read, outer", RW: "read", Block: 128 * unit.KiB, Depth: 1, Bytes: true},
		{Name: "sequential read, inner", RW: "read", Block: 128 * unit.KiB, Depth: 1, inner: true, Bytes: true},
		{Name: "sequential write, outer", RW: "write", Block: 1 * unit.MiB, Depth: 1, Bytes: true},
		{Name: "random read 4 KiB", RW: "randread", Block: 4 * unit.KiB, Depth: 1},
	}
	if depth > 1 {
		list = append(list, Load{Name: "random read 4 KiB", RW: "randread", Block: 4 * unit.KiB, Depth: depth})
	}
	return append(list,
		Load{Name: "random write 4 KiB and fsync", RW: "randwrite", Block: 4 * unit.KiB, Depth: 1, Fsync: true},
		Load{Name: "random read and write 4 KiB", RW: "randrw", Block: 4 * unit.KiB, Depth: 1},
	)
}

// args gives fio's command line, without the engine.
func (j Load) args(size unit.Size, seconds time.Duration, seed uint64) []string {
	args := []string{
		"--name=check", "--output-format=json", "--eta=never",
		"--rw=" + j.RW, fmt.Sprintf("--bs=%d", j.Block), fmt.Sprintf("--iodepth=%d", j.Depth),
		fmt.Sprintf("--runtime=%dms", seconds.Milliseconds()),
		// The same requests every time, anywhere, without a map of what was
		// done; and nothing that the host would have to keep.
		fmt.Sprintf("--randseed=%d", seed), "--norandommap", "--zero_buffers",
		"--disable_slat=1", "--disable_clat=0",
	}
	if j.Fsync {
		args = append(args, "--fsync=1")
	}
	offset, length := j.Range(size)
	return append(args, fmt.Sprintf("--offset=%d", offset), fmt.Sprintf("--size=%d", length))
}

// Range is the part of a drive of that size that the load uses.
func (j Load) Range(size unit.Size) (offset, length unit.Size) {
	length = size / j.Block * j.Block
	if j.inner {
		// More than a disk can do in a minute, and less than its last zone.
		length = min(length, size/64/j.Block*j.Block)
		offset = (size - length) / j.Block * j.Block
	}
	return offset, length
}
