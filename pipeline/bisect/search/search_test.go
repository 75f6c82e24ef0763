package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lab boots the commits of a test: a level of each, noise, and what does not
// run.
type lab struct {
	t     *testing.T
	s     *Search
	r     *rand.Rand
	noise float64
	level func(commit int) float64
	skip  func(commit int) bool
	cost  func(commit int) time.Duration
	block func() int
	asked []int // all choices, in order
}

// run searches until there is an answer or a budget is spent.
func (l *lab) run(budget int) State {
	l.t.Helper()
	for range budget {
		block := 0
		if l.block != nil {
			block = l.block()
		}
		next := l.s.Next(block, l.cost)
		if next.Done {
			break
		}
		l.asked = append(l.asked, next.Commit)
		var err error
		if l.skip != nil && l.skip(next.Commit) {
			err = l.s.Skip(next.Commit)
		} else {
			y := l.level(next.Commit)
			if l.noise > 0 {
				y += l.noise * l.r.NormFloat64()
			}
			err = l.s.Observe(next.Commit, block, y)
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
	return l.s.State()
}

// line makes a lab of commits 0 (good) to n (bad), with a step of the level at
// the culprit.
func line(t *testing.T, n, culprit int, step, noise float64) *lab {
	t.Helper()
	s, err := New(Line(n+1), Options{Good: []int{0}, Bad: n})
	if err != nil {
		t.Fatal(err)
	}
	return &lab{t: t, s: s, r: rand.New(rand.NewPCG(uint64(culprit), 7)), noise: noise, level: func(c int) float64 {
		if c >= culprit {
			return step
		}
		return 0
	}}
}

// Without noise every sample halves what is left: ten of them for 1,000
// commits, and two of the ends.
func TestLine(t *testing.T) {
	for culprit := 1; culprit <= 1000; culprit += 37 {
		l := line(t, 1000, culprit, math.Log(1.3), 0)
		if st := l.run(20); st.Kind != Found || st.Culprits[0] != culprit || st.Samples > 15 {
			t.Errorf("culprit %d: %v", culprit, st)
		}
	}
}

// The culprit lies in or behind a run that does not build: it is one of the run
// and of the first that builds after it, and nothing outside.
func TestSkip(t *testing.T) {
	for _, culprit := range []int{40, 42, 44, 45} {
		l := line(t, 100, culprit, 0.2, 0.01)
		l.skip = func(c int) bool { return c >= 40 && c < 45 }
		st := l.run(60)
		if st.Kind != OneOf {
			t.Errorf("culprit %d: %v", culprit, st)
			continue
		}
		if diff := cmp.Diff([]int{40, 41, 42, 43, 44, 45}, slices.Sorted(slices.Values(st.Culprits))); diff != "" {
			t.Errorf("culprit %d: %s", culprit, diff)
		}
	}
}

// Skipping is no evidence: it moves no probability.
func TestSkipSaysNothing(t *testing.T) {
	l := line(t, 20, 7, 0.2, 0.02)
	l.run(6)
	before := l.s.State().Posterior
	if err := l.s.Skip(9); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, l.s.State().Posterior); diff != "" {
		t.Error(diff)
	}
}

// An end that does not run leaves nothing to search.
func TestEndSkipped(t *testing.T) {
	for _, end := range []int{0, 10} {
		l := line(t, 10, 5, 0.2, 0)
		l.skip = func(c int) bool { return c == end }
		if st := l.run(20); st.Kind != Stuck {
			t.Errorf("end %d: %v", end, st)
		}
	}
}

func TestAlias(t *testing.T) {
	l := line(t, 100, 63, 0.2, 0.01)
	// Only every tenth commit changes the kernel, but for 61 to 65.
	for c := 1; c <= 100; c++ {
		if c%10 != 0 && (c < 61 || c > 65) {
			if err := l.s.Alias(c, c-1); err != nil {
				t.Fatal(err)
			}
		}
	}
	st := l.s.State()
	for c, p := range st.Posterior {
		if cleared := c == 0 || c%10 != 0 && (c < 61 || c > 65); cleared != (p == 0) {
			t.Errorf("commit %d has probability %g", c, p)
		}
	}
	// Fifteen are left: four samples, and two of the ends.
	if st := l.run(30); st.Kind != Found || st.Culprits[0] != 63 || st.Samples > 8 {
		t.Error(st)
	}
}

// An alias may clear the very commit that all samples speak for. What is left
// is judged anew.
func TestAliasOfTheBest(t *testing.T) {
	l := line(t, 100, 63, 0.2, 0.001)
	l.run(60)
	if err := l.s.Alias(63, 62); err != nil {
		t.Fatal(err)
	}
	st := l.s.State()
	if st.Posterior[63] != 0 || slices.Contains(st.Culprits, 63) {
		t.Error(st)
	}
	l.s.Next(0, nil)
}

// A commit that is the kernel of a measured one has its samples: whatever lies
// between is cleared, on merges too.
func TestAliasOnMerge(t *testing.T) {
	//  0 - 1 - 3 - 4      2 is a branch that changes nothing
	//    \ 2 /
	g := Graph{Parents: [][]int{nil, {0}, {0}, {1, 2}, {3}}}
	s, err := New(g, Options{Good: []int{0}, Bad: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Alias(2, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Alias(3, 1); err != nil {
		t.Fatal(err)
	}
	post := s.State().Posterior
	if post[2] != 0 || post[3] != 0 || post[1] == 0 || post[4] == 0 {
		t.Error(post)
	}
	if err := s.Alias(4, 0); err == nil {
		t.Error("the ends were taken for one kernel")
	}
	if diff := cmp.Diff(post, s.State().Posterior); diff != "" {
		t.Errorf("a refused alias changed something: %s", diff)
	}
}

func TestTwoChanges(t *testing.T) {
	for seed, at := range [][2]int{{300, 700}, {100, 900}, {450, 520}} {
		l := line(t, 1000, at[0], 0.1, 0.01)
		l.r = rand.New(rand.NewPCG(uint64(seed), 9))
		one := l.level
		l.level = func(c int) float64 {
			if c >= at[1] {
				return one(c) + 0.07
			}
			return one(c)
		}
		st := l.run(80)
		if st.Kind != TwoChanges || st.Second == nil {
			t.Errorf("%v: %v", at, st)
			continue
		}
		if !slices.Equal(st.Culprits, at[:1]) || !slices.Equal(st.Second.Culprits, at[1:]) {
			t.Errorf("%v: found %v and %v", at, st.Culprits, st.Second.Culprits)
		}
		if math.Abs(st.Change-0.1) > 0.03 || math.Abs(st.Second.Change-0.07) > 0.03 {
			t.Errorf("%v: changes %.3f and %.3f", at, st.Change, st.Second.Change)
		}
	}
}

// Equal ends end the search, with what would have been seen.
func TestNoDifference(t *testing.T) {
	for _, noise := range []float64{0.003, 0.01, 0.03} {
		l := line(t, 1000, 500, 0, noise)
		st := l.run(400)
		if st.Kind != NoDifference || st.Smallest > defaultLeast {
			t.Errorf("noise %g: %v", noise, st)
		}
	}
}

// One boot far off, wherever it falls, does not lead to another commit.
func TestOutlier(t *testing.T) {
	for wild := range 12 {
		l := line(t, 200, 77, 0.2, 0.01)
		n, level := 0, l.level
		l.level = func(c int) float64 {
			y := level(c)
			if n == wild {
				y += 0.35
			}
			n++
			return y
		}
		if st := l.run(60); st.Kind != Found || st.Culprits[0] != 77 {
			t.Errorf("sample %d off: %v", wild, st)
		}
	}
}

// A host that shifts by ten times the noise from block to block costs boots,
// and no wrong answer.
func TestShiftingHost(t *testing.T) {
	const perBlock = 5
	var boots int
	for culprit := 50; culprit < 1000; culprit += 100 {
		l := line(t, 1000, culprit, 0.1, 0.01)
		n, shift, level := 0, 0.0, l.level
		l.block = func() int { return n / perBlock }
		l.level = func(c int) float64 {
			if n%perBlock == 0 {
				shift = 0.1 * l.r.NormFloat64()
			}
			n++
			return level(c) + shift
		}
		st := l.run(200)
		if st.Kind != Found || st.Culprits[0] != culprit {
			t.Errorf("culprit %d: %v", culprit, st)
		}
		boots += st.Samples
	}
	t.Logf("%.1f boots", float64(boots)/10)
}

// Where most commits cost a long build, those that are built are taken if they
// say nearly as much.
func TestCost(t *testing.T) {
	l := line(t, 1000, 333, 0.2, 0.01)
	built := func(c int) bool { return c%25 == 0 }
	l.cost = func(c int) time.Duration {
		if built(c) {
			return time.Minute
		}
		return 10 * time.Minute
	}
	if st := l.run(40); st.Kind != Found || st.Culprits[0] != 333 {
		t.Error(st)
	}
	// Six halvings among forty, then no more than the 24 between.
	for i, c := range l.asked[:6] {
		if !built(c) {
			t.Errorf("choice %d is %d, which is not built", i, c)
		}
	}
}

// The same samples in the same order give the same search.
func TestRepeatable(t *testing.T) {
	var first []int
	for range 3 {
		l := line(t, 500, 123, 0.1, 0.04)
		st := l.run(100)
		if first == nil {
			first = l.asked
		}
		if diff := cmp.Diff(first, l.asked); diff != "" || st.Samples != len(first) {
			t.Fatal(diff)
		}
	}
}

// Merges: on any history the culprit is found, and the samples are about the
// logarithm of its size.
func TestMerges(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 10 {
		g := random(r, 200)
		s, err := New(g, Options{Good: []int{0}, Bad: 199})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Candidates()
		culprit := c[r.IntN(len(c))]
		l := &lab{t: t, s: s, r: r, noise: 0.01, level: func(commit int) float64 {
			if g.Reachable(commit)[culprit] {
				return 0.2
			}
			return 0
		}}
		if st := l.run(100); st.Kind != Found || st.Culprits[0] != culprit {
			t.Errorf("culprit %d of %d: %v", culprit, len(c), st)
		}
	}
}

func TestObserveRefuses(t *testing.T) {
	l := line(t, 10, 5, 0.1, 0)
	for _, y := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if l.s.Observe(3, 0, y) == nil {
			t.Errorf("%g was taken", y)
		}
	}
	for _, c := range []int{-1, 11} {
		if l.s.Observe(c, 0, 1) == nil || l.s.Skip(c) == nil || l.s.Alias(c, 1) == nil || l.s.Alias(1, c) == nil {
			t.Errorf("commit %d was taken", c)
		}
	}
}

// A step of a search of 20,000 commits, one in ten of them a merge.
func BenchmarkStep(b *testing.B) {
	const n = 20000
	r := rand.New(rand.NewPCG(1, 1))
	g := Line(n)
	for i := 20; i < n; i += 10 {
		g.Parents[i] = append(g.Parents[i], i-2-r.IntN(15))
	}
	s, err := New(g, Options{Good: []int{0}, Bad: n - 1})
	if err != nil {
		b.Fatal(err)
	}
	above := g.Reachable
	for b.Loop() {
		next := s.Next(0, nil)
		if next.Done {
			b.Fatal(s.State())
		}
		y := 0.03 * r.NormFloat64()
		if above(next.Commit)[n/3] {
			y += 0.02
		}
		if err := s.Observe(next.Commit, 0, y); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleSearch() {
	s, err := New(Line(101), Options{Good: []int{0}, Bad: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		next := s.Next(0, nil)
		if next.Done {
			break
		}
		seconds := 90.0
		if next.Commit >= 42 {
			seconds = 104
		}
		if err := s.Observe(next.Commit, 0, math.Log(seconds)); err != nil {
			fmt.Println(err)
			return
		}
	}
	st := s.State()
	fmt.Printf("%v: commit %d, %+.0f %%\n", st.Kind, st.Culprits[0], 100*math.Expm1(st.Change))
	// Output: found: commit 42, +16 %
}

// Samples of a real history of 67 commits in which one, number 28, made the limits
// of dirty pages smaller: one boot in eight is far off, also at the other level.
// However many there are, none makes a second change.
func TestManyOutliers(t *testing.T) {
	samples := []struct {
		commit, block int
		seconds       float64
	}{
		{0, 1, 1.3008}, {67, 1, 1.521}, {0, 2, 1.3004}, {67, 2, 1.6604}, {0, 3, 1.3036},
		{67, 3, 1.5238}, {0, 4, 1.2914}, {67, 4, 1.5238}, {0, 5, 1.3126}, {67, 5, 2.1025},
		{0, 6, 1.2921}, {67, 6, 1.5221}, {0, 7, 1.3091}, {67, 7, 1.4996}, {40, 1, 1.5209},
		{20, 1, 1.3009}, {26, 1, 1.3009}, {27, 1, 1.3093}, {27, 8, 1.4555}, {28, 8, 1.5252},
		{67, 8, 1.596}, {28, 9, 1.5221}, {67, 9, 1.5221}, {27, 9, 1.292}, {67, 10, 1.5108},
		{27, 10, 1.3012}, {28, 10, 1.5308}, {27, 11, 1.3006}, {28, 11, 1.5004}, {67, 11, 1.9706},
		{27, 12, 1.2908}, {28, 12, 1.5208}, {67, 12, 1.5113}, {28, 13, 1.5075}, {67, 13, 1.5075},
		{27, 13, 1.2974}, {67, 14, 1.5254}, {27, 14, 1.536}, {28, 14, 1.5058},
	}
	g := Graph{Parents: [][]int{nil}}
	for i := 1; i <= 67; i++ {
		g.Parents = append(g.Parents, []int{i - 1})
	}
	s, err := New(g, Options{Good: []int{0}, Bad: 67, Least: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range samples {
		if err := s.Observe(x.commit, x.block, math.Log(x.seconds)); err != nil {
			t.Fatal(err)
		}
		st := s.State()
		if st.Second != nil {
			t.Errorf("after %d samples: a second change of %+.2f with probability %.2f", i+1, st.Second.Change, st.Second.Probability)
		}
		if i > 20 && (st.Kind != Found || !slices.Equal(st.Culprits, []int{28})) {
			t.Errorf("after %d samples: %v %v", i+1, st.Kind, st.Culprits)
		}
	}
}
