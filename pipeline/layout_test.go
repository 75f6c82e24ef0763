package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/reports/record"
)

// planOf makes a plan of the given size.
func planOf(t testing.TB, arms, filesystems, repeat int, seed uint64) *Plan {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "name: n\nseed: %d\nrepeat: %d\nkernels: {k: {deb: linux-image-6.12-amd64}}\n", seed, repeat)
	fmt.Fprintf(&b, "drives: {d: {profile: sata-7200}}\narms:\n")
	for i := range arms {
		fmt.Fprintf(&b, "  %c: {kernel: k}\n", 'A'+i)
	}
	all := []string{"ext4", "xfs", "btrfs", "ext3"}
	fmt.Fprintf(&b, "conditions: {filesystem: [%s], scheduler: [bfq]}\n", strings.Join(all[:filesystems], ", "))
	fmt.Fprintf(&b, "workloads:\n- {name: w, dd: {size: 96MiB}}\n- {name: v, dd: {size: 96MiB}}\n")
	p, err := Load("n.yaml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLayoutGolden holds the layout to testdata/layout.txt, which
// testdata/layout.py wrote: the same from the description alone, with its own
// PCG. A run on disk is resumed by its layout, so this must never change.
func TestLayoutGolden(t *testing.T) {
	var got strings.Builder
	for _, tc := range []struct {
		arms, filesystems, repeat int
		seed                      uint64
	}{{2, 2, 4, 1}, {3, 4, 3, 7}, {1, 1, 2, 0}, {2, 4, 2, 1<<64 - 1}} {
		fmt.Fprintf(&got, "arms %d conditions %d seed %d\n", tc.arms, tc.filesystems*2, tc.seed)
		for _, b := range Layout(planOf(t, tc.arms, tc.filesystems, tc.repeat, tc.seed)) {
			fmt.Fprintf(&got, "%d:", b.Index)
			for _, c := range b.Cells {
				fmt.Fprintf(&got, " %s.%s.%s", c.Condition.Filesystem, c.Condition.Workload, c.Arm)
			}
			got.WriteByte('\n')
		}
	}
	want := readFile(t, "testdata/layout.txt")
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("layout (-layout.py +Layout):\n%s", diff)
	}
}

func TestLayout(t *testing.T) {
	for _, arms := range []int{1, 2, 3, 5} {
		for _, filesystems := range []int{1, 2, 4} {
			for seed := range uint64(20) {
				p := planOf(t, arms, filesystems, 2*arms, seed)
				checkLayout(t, p, Layout(p))
			}
		}
	}
}

// checkLayout holds blocks to what Layout promises.
func checkLayout(t *testing.T, p *Plan, blocks []Block) {
	t.Helper()
	grid, k := p.Grid(), len(p.Arms)
	if len(blocks) != p.Repeat {
		t.Fatalf("%d blocks, want %d", len(blocks), p.Repeat)
	}
	// How often an arm came at a place in the order of a condition.
	places := make(map[record.Cell][]int)
	slugs := make(map[string]bool)
	for i, b := range blocks {
		if b.Index != i+1 {
			t.Errorf("block %d is called %d", i+1, b.Index)
		}
		if len(b.Cells) != k*len(grid) {
			t.Fatalf("block %d has %d cells, want %d", b.Index, len(b.Cells), k*len(grid))
		}
		seen := make(map[record.Cell]bool)
		for j, c := range b.Cells {
			if seen[c] || !slices.Contains(grid, c.Condition) || p.Arm(c.Arm) == nil {
				t.Fatalf("block %d: %s is there twice or in no plan", b.Index, c)
			}
			seen[c] = true
			slugs[c.Slug()] = true
			if c.Condition != b.Cells[j-j%k].Condition {
				t.Fatalf("block %d: arms of %s are apart", b.Index, c.Condition)
			}
			if places[c] == nil {
				places[c] = make([]int, k)
			}
			places[c][j%k]++
		}
	}
	if len(slugs) != k*len(grid) {
		t.Errorf("%d slugs for %d cells", len(slugs), k*len(grid))
	}
	for c, at := range places {
		if slices.Max(at)-slices.Min(at) > 1 || p.Repeat%k == 0 && slices.Max(at) != slices.Min(at) {
			t.Errorf("%s: places %v over %d blocks", c, at, p.Repeat)
		}
	}
	// Within a block, first places are shared out evenly too.
	for _, b := range blocks {
		firsts := make(map[string]int)
		for j := 0; j < len(b.Cells); j += k {
			firsts[b.Cells[j].Arm]++
		}
		for _, a := range p.Arms {
			if n := firsts[a.Name]; n < len(grid)/k || n > len(grid)/k+1 {
				t.Errorf("block %d: %s is first in %d of %d conditions", b.Index, a.Name, n, len(grid))
			}
		}
	}
}

func TestLayoutGrows(t *testing.T) {
	few, many := Layout(planOf(t, 3, 4, 2, 9)), Layout(planOf(t, 3, 4, 5, 9))
	if diff := cmp.Diff(few, many[:2]); diff != "" {
		t.Errorf("more blocks change the first ones:\n%s", diff)
	}
}

func TestLayoutSeed(t *testing.T) {
	one, two := Layout(planOf(t, 2, 4, 1, 1)), Layout(planOf(t, 2, 4, 1, 2))
	if cmp.Equal(one, two) {
		t.Error("the seed changes nothing")
	}
}

// With every seed each condition should be as likely at each place. With
// 4000 seeds a place has 500 ± 21 (binomial, n=4000, p=1/8); five of these
// deviations away means that the shuffle is not fair.
func TestLayoutFair(t *testing.T) {
	const seeds = 4000
	p := planOf(t, 2, 4, 1, 0)
	grid := p.Grid()
	count := make(map[record.Condition]*[8]int)
	first := make(map[record.Condition]int)
	for _, c := range grid {
		count[c] = new([8]int)
	}
	for p.Seed = range seeds {
		for j, c := range Layout(p)[0].Cells {
			if j%2 == 0 {
				count[c.Condition][j/2]++
				if c.Arm == "A" {
					first[c.Condition]++
				}
			}
		}
	}
	for _, c := range grid {
		for place, n := range count[c] {
			if n < 500-105 || n > 500+105 {
				t.Errorf("%s at place %d: %d times of %d", c, place, n, seeds)
			}
		}
		if n := first[c]; n < 2000-160 || n > 2000+160 { // ± 32
			t.Errorf("%s starts with A %d times of %d", c, n, seeds)
		}
	}
}
