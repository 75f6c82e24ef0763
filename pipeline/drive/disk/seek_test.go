package disk

import (
	"math"
	"strings"
	"testing"

	"spindle/internal/unit"
)

// The three-point form meets its three points: the sheet's average over all
// pairs within 1 %, as Lee and Katz say it does for any number of tracks.
func TestThreePoints(t *testing.T) {
	for _, tt := range []struct{ low, mean, high float64 }{
		{0.9, 8.5, 17.5}, {0.7, 8.5, 18}, {1.0, 12, 20}, {2, 11, 21},
	} {
		for _, tracks := range []int64{2000, 120000} {
			s := Seek{Tracks: tracks, Read: Curve{TrackToTrack: ms(tt.low), Average: ms(tt.mean), FullStroke: ms(tt.high)}, Settle: ms(1)}
			if err := s.validate(); err != nil {
				t.Fatal(err)
			}
			read, write := s.motions()
			if got := read.time(1) / 1e6; math.Abs(got-tt.low) > 1e-9 {
				t.Errorf("%+v: next track %.4f ms", tt, got)
			}
			if got := read.time(float64(tracks)) / 1e6; math.Abs(got/tt.high-1) > 0.001 {
				t.Errorf("%+v: full stroke %.4f ms", tt, got)
			}
			for _, m := range []struct {
				motion
				want float64
			}{{read, tt.mean}, {write, tt.mean + 1}} {
				if got := seekMean(m.motion, int(tracks)); math.Abs(got/m.want-1) > 0.01 {
					t.Errorf("%+v over %d tracks: mean %.4f ms, want %.2f", tt, tracks, got, m.want)
				}
			}
			if got := s.Average(true).Seconds() * 1e3; math.Abs(got/(tt.mean+1)-1) > 0.01 {
				t.Errorf("%+v: Average of writes %.4f ms, want %.2f", tt, got, tt.mean+1)
			}
		}
	}
}

func TestSeekValidate(t *testing.T) {
	sheet := func(low, mean, high unit.Duration) Curve {
		return Curve{TrackToTrack: low, Average: mean, FullStroke: high}
	}
	for _, tt := range []struct {
		want string // "" for none
		s    Seek
	}{
		{"", Seek{Tracks: 1000, Read: sheet(ms(1), ms(8), ms(17))}},
		{"must be there and rise", Seek{Tracks: 1000, Read: sheet(0, ms(8), ms(17))}},
		{"must be there and rise", Seek{Tracks: 1000, Read: sheet(ms(1), ms(8), ms(7))}},
		{"no curve through these rises", Seek{Tracks: 1000, Read: sheet(ms(1), ms(16), ms(17))}},
		{"three points", Seek{Tracks: 1000, Read: Curve{A: 1, Average: ms(8)}}},
		{"take one out", Seek{Tracks: 1000, Read: sheet(ms(1), ms(8), ms(17)), Write: sheet(ms(1), ms(9), ms(18)), Settle: ms(1)}},
		{"seek.settle", Seek{Tracks: 1000, Read: sheet(ms(1), ms(8), ms(17)), Settle: ms(2000)}},
	} {
		err := tt.s.validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.s, err, tt.want)
		}
	}
}
