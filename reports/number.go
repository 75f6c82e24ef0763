package reports

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/stat"
)

// decimals gives how many decimals a value with this uncertainty deserves, by
// the rule of the Particle Data Group (Review of Particle Physics,
// Introduction, 5.3): two digits of the uncertainty if they are up to 35, else
// one; 95 and above round to 10 of the next. Negative: round to tens and so on.
func decimals(half float64) int {
	if !(half > 0) || math.IsInf(half, 0) {
		return 4
	}
	e := int(math.Floor(math.Log10(half)))
	if half/math.Pow10(e) < 3.55 {
		return min(1-e, 4)
	}
	return min(-e, 4)
}

// fixed rounds v to so many decimals; negative ones to tens and hundreds.
func fixed(v float64, decimals int) string {
	if decimals < 0 {
		step := math.Pow10(-decimals)
		v, decimals = math.Round(v/step)*step, 0
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-") // no minus zero
	}
	return s
}

// digits gives v with n significant digits.
func digits(v float64, n int) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fixed(v, n-1-int(math.Floor(math.Log10(math.Abs(v)))))
}

// scale is a unit that values are shown in.
type scale struct {
	name string  // "ms", "MB/s"; empty for a bare number
	size float64 // of it, in the metric's unit
}

// scaleOf picks the unit for values of about this magnitude.
func scaleOf(unit string, magnitude float64) scale {
	steps := []scale{{unit, 1}}
	switch unit {
	case "s":
		steps = []scale{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}}
	case "B", "B/s":
		after := strings.TrimPrefix(unit, "B")
		steps = []scale{{"GB" + after, 1e9}, {"MB" + after, 1e6}, {"kB" + after, 1e3}, {unit, 1}}
	case "1":
		steps = []scale{{"", 1}}
	}
	for _, s := range steps {
		if magnitude >= s.size {
			return s
		}
	}
	if unit == "s" && magnitude == 0 {
		return steps[0]
	}
	return steps[len(steps)-1]
}

// scaleFor picks the unit of a column: that of its median, or, if the largest value
// would have six digits then, or the smallest be 0.00003 (an fsync of 3 µs on one
// file system, of 2.4 s on another), the one between the two.
func scaleFor(unit string, values []float64) scale {
	if len(values) == 0 {
		return scaleOf(unit, 0)
	}
	s := scaleOf(unit, stat.Describe(values).Median)
	least, most := slices.Min(values), slices.Max(values)
	if most/s.size < 1e5 && (least == 0 || least/s.size >= 1e-4) {
		return s
	}
	return scaleOf(unit, math.Sqrt(least*most))
}

// withUnit gives one value for prose: "8.3 ms".
func withUnit(v float64, unit string, n int) string {
	s := scaleOf(unit, math.Abs(v))
	return strings.TrimSuffix(digits(v/s.size, n)+text.NBSP+s.name, text.NBSP)
}

// value gives a cell's mean and the half width of its interval.
func value(s stat.Summary, unit scale, pm string) string {
	mean, half := s.Mean/unit.size, (s.High-s.Low)/2/unit.size
	switch {
	case s.N == 0:
		return "-"
	case s.N == 1:
		return digits(mean, 4)
	case half == 0 && mean == math.Trunc(mean): // a count that never varied
		return fixed(mean, 0)
	case half == 0: // all the same: a bucket of a histogram, or virtual time
		return digits(mean, 4)
	}
	d := decimals(half)
	if fixed(half, d) == fixed(0, d) { // too small to show
		return fixed(mean, d)
	}
	return fixed(mean, d) + pm + fixed(half, d)
}

// meanOnly gives a cell's mean, with the digits its interval allows.
func meanOnly(s stat.Summary, unit scale) string {
	v, _, _ := strings.Cut(value(s, unit, "±"), "±")
	return v
}

// manyfold is the relative change from which a factor reads better.
const manyfold = 9

// share gives a relative number as a percentage with two digits or so: "15 %",
// "2.1 %", "0.35 %"; a large one as a factor, "12x".
func share(v float64) string {
	d := 0
	switch a := math.Abs(v); {
	case v >= manyfold:
		return digits(1+v, 3) + "x"
	case a == 0:
	case a < 0.00995:
		d = 2
	case a < 0.0995:
		d = 1
	}
	return fixed(100*v, d) + text.NBSP + "%"
}

// change gives a verdict's change with its interval: "+15.0 % (13.2, 16.9)",
// "12.5x (11.2, 13.9)" for a large one, "-2.5 (-3.1, -1.9)" for a difference.
func change(v stat.Verdict, unit scale) string {
	if math.IsNaN(v.Change) {
		return "-"
	}
	show := func(x float64) float64 { return 100 * x }
	after, most, atMost := text.NBSP+"%", 999.0, 1
	switch {
	case v.Scale == stat.Difference:
		show = func(x float64) float64 { return x / unit.size }
		after, most, atMost = "", math.Inf(1), 4
	case v.Change >= manyfold:
		show = func(x float64) float64 { return 1 + x }
		after, most = "x", 9999
	case math.Abs(v.Change) < 0.01:
		atMost = 2
	}
	mid, low, high := show(v.Change), show(v.Low), show(v.High)
	// Ranks leave an end open where there are too few pairs, or where runs were
	// stopped at a limit.
	lowOpen := math.IsInf(v.Low, -1) || v.Scale == stat.Ratio && v.Low == -1
	highOpen := math.IsInf(v.High, 1)
	half := (high - low) / 2
	if lowOpen || highOpen {
		half = math.Abs(mid) / 10
	}
	d := min(decimals(half), atMost)
	if math.IsNaN(low) || high > most && !highOpen {
		d = 0
	}
	s := signed(mid, d) + after
	if after == "x" {
		s = fixed(mid, d) + after
	}
	switch {
	case math.IsNaN(low) || low == high || lowOpen && highOpen:
		return s
	case highOpen:
		return s + " (>=" + text.NBSP + fixed(low, d) + ")"
	case lowOpen:
		return s + " (<=" + text.NBSP + fixed(high, d) + ")"
	}
	upper := fixed(high, d)
	if high > most {
		upper = ">" + fixed(most, 0)
	}
	return s + " (" + fixed(low, d) + "," + text.NBSP + upper + ")"
}

// estimate gives a verdict's change as change does, without its interval.
func estimate(v stat.Verdict, unit scale) string {
	s, _, _ := strings.Cut(change(v, unit), " (")
	return s
}

func signed(v float64, decimals int) string {
	s := fixed(v, decimals)
	if v > 0 && strings.Trim(s, "0.") != "" {
		s = "+" + s
	}
	return s
}

// seen gives the smallest change that would have been seen: "2.1 %".
func seen(v stat.Verdict, unit scale) string {
	if v.Scale == stat.Difference {
		return strings.TrimSuffix(digits(v.MDE/unit.size, 2)+text.NBSP+unit.name, text.NBSP)
	}
	return share(v.MDE)
}
