package reports

import (
	"math"
	"strings"
	"testing"

	"spindle/reports/internal/text"
	"spindle/reports/stat"
)

// The examples of the Particle Data Group's rule (Review of Particle Physics,
// Introduction, 5.3): 0.827 ± 0.119 becomes 0.83 ± 0.12, 0.827 ± 0.367
// becomes 0.8 ± 0.4; and 0.827 ± 0.969 would be 0.8 ± 1.0.
func TestValue(t *testing.T) {
	s := scale{"s", 1}
	for _, tt := range []struct {
		mean, half float64
		unit       scale
		want       string
	}{
		{0.827, 0.119, s, "0.83 ± 0.12"},
		{0.827, 0.367, s, "0.8 ± 0.4"},
		{0.827, 0.969, s, "0.8 ± 1.0"},
		{101.775, 14.2, s, "102 ± 14"},
		{1234, 250, s, "1230 ± 250"},
		{1234, 480, s, "1200 ± 500"},
		{0.0875, 0.00097, scale{"ms", 1e-3}, "87.5 ± 1.0"},
		{1.5, 3e-9, s, "1.5000"},
		{7, 0, s, "7"},
		{0.173015, 0, scale{"ms", 1e-3}, "173.0"},
		{-0.001, 0.2, s, "0.00 ± 0.20"},
	} {
		sum := stat.Summary{N: 3, Mean: tt.mean, Low: tt.mean - tt.half, High: tt.mean + tt.half}
		if got := value(sum, tt.unit, " ± "); got != tt.want {
			t.Errorf("%v with half width %v is %q, want %q", tt.mean, tt.half, got, tt.want)
		}
	}
	nan := math.NaN()
	if got := value(stat.Summary{N: 1, Mean: 87.9611, Low: nan, High: nan}, s, "±"); got != "87.96" {
		t.Errorf("a single value is %q, want 87.96", got)
	}
	if got := value(stat.Summary{}, s, "±"); got != "-" {
		t.Errorf("no value is %q", got)
	}
}

func TestScaleOf(t *testing.T) {
	for _, tt := range []struct {
		unit      string
		magnitude float64
		want      string
	}{
		{"s", 87, "s"}, {"s", 3600, "s"}, {"s", 0.34, "ms"}, {"s", 2e-5, "µs"}, {"s", 1e-9, "µs"}, {"s", 0, "s"},
		{"B/s", 1.2e8, "MB/s"}, {"B/s", 5e9, "GB/s"}, {"B/s", 999, "B/s"}, {"B", 2048, "kB"}, {"1", 5, ""}, {"1/s", 2000, "1/s"}, {"pages", 1, "pages"},
	} {
		if got := scaleOf(tt.unit, tt.magnitude).name; got != tt.want {
			t.Errorf("%v %s is shown in %q, want %q", tt.magnitude, tt.unit, got, tt.want)
		}
	}
}

func TestChange(t *testing.T) {
	nan := math.NaN()
	for want, v := range map[string]stat.Verdict{
		"+15.0 % (13.2, 16.9)": {Change: 0.1500054, Low: 0.1315077, High: 0.1688055},
		"+16 % (2, 32)":        {Change: 0.16175, Low: 0.02237, High: 0.32013},
		"-9.8 % (-12.4, -7.1)": {Change: -0.098, Low: -0.124, High: -0.071},
		"+0.52 % (0.31, 0.73)": {Change: 0.0052, Low: 0.0031, High: 0.0073},
		"0.0 % (-0.5, 0.5)":    {Change: 0.0001, Low: -0.005, High: 0.005},
		"+5 % (-80, >999)":     {Change: 0.05, Low: -0.8, High: 11},
		"20.0x (19.3, 20.7)":   {Change: 19, Low: 18.3, High: 19.7},
		"+3 %":                 {Change: 0.03, Low: nan, High: nan},
		"-":                    {Change: nan},
		"-2.5 (-3.1, -1.9)":    {Scale: stat.Difference, Change: -2.5, Low: -3.1, High: -1.9},
	} {
		if got := strings.ReplaceAll(change(v, scale{"", 1}), text.NBSP, " "); got != want {
			t.Errorf("change %v (%v, %v) is %q, want %q", v.Change, v.Low, v.High, got, want)
		}
	}
	ms := scale{"ms", 1e-3}
	if got := strings.ReplaceAll(change(stat.Verdict{Scale: stat.Difference, Change: 0.25, Low: 0.2, High: 0.3}, ms), text.NBSP, " "); got != "+250 (200, 300)" {
		t.Errorf("a difference in ms is %q", got)
	}
}

func TestShare(t *testing.T) {
	for want, v := range map[string]float64{"15 %": 0.15, "2.1 %": 0.021, "0.35 %": 0.0035, "0 %": 0, "-11 %": -0.114, "10 %": 0.0996, "120 %": 1.2, "20.0x": 19} {
		if got := strings.ReplaceAll(share(v), text.NBSP, " "); got != want {
			t.Errorf("share(%v) is %q, want %q", v, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	for want, in := range map[string][]int{"1": {1}, "1,2": {2, 1}, "1-3": {3, 1, 2, 2}, "1,2,4-6,9": {9, 6, 5, 4, 2, 1}} {
		if got := spans(in); got != want {
			t.Errorf("spans(%v) is %q, want %q", in, got, want)
		}
	}
}

func TestScaleFor(t *testing.T) {
	for _, tt := range []struct {
		unit   string
		values []float64
		want   string
	}{
		{"s", nil, "s"},
		{"s", []float64{0.0031, 0.0042, 0.9}, "ms"},
		{"s", []float64{3e-6, 2.369}, "ms"},
		{"s", []float64{3e-6, 4e-6, 5e-6, 2.369}, "ms"},
		{"s", []float64{3e-6, 5e-6, 0.09}, "µs"}, // 90000 µs
		{"B/s", []float64{2e3, 3e3, 4e9}, "MB/s"},
		{"1", []float64{1, 2, 4e9}, ""},
	} {
		if got := scaleFor(tt.unit, tt.values).name; got != tt.want {
			t.Errorf("%v %s: %q, want %q", tt.values, tt.unit, got, tt.want)
		}
	}
}
