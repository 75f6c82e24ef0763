package search

import (
	"math"
	"testing"
)

// Without noise every sample halves what is left: ten of them for 1,000
// commits, and two of the ends.
func TestLine(t *testing.T) {
	for culprit := 1; culprit <= 1000; culprit += 37 {
		s, err := New(Line(1001), Options{Good: []int{0}, Bad: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			next := s.Next(0, nil)
			if next.Done {
				break
			}
			level := 0.0
			if next.Commit >= culprit {
				level = math.Log(1.3)
			}
			if err := s.Observe(next.Commit, 0, level); err != nil {
				t.Fatal(err)
			}
		}
		st := s.State()
		if st.Kind != Found || st.Culprits[0] != culprit || st.Samples > 14 {
			t.Errorf("culprit %d: %v", culprit, st)
		}
	}
}
