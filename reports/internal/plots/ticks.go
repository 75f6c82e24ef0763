package plots

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// ticks puts about so many labelled marks on an axis, at round numbers.
type ticks int

// Ticks gives the marks between two values.
func (n ticks) Ticks(low, high float64) []plot.Tick {
	step := round((high - low) / float64(n))
	if !(step > 0) || math.IsInf(step, 0) {
		return []plot.Tick{{Value: low, Label: strconv.FormatFloat(low, 'g', 4, 64)}}
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var out []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step; i++ {
		v := i * step
		if v == 0 {
			v = 0 // not minus zero
		}
		out = append(out, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', decimals, 64)})
	}
	return out
}

// round gives the next of 1, 2, 5 times a power of ten.
func round(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= step*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// upTo gives the end of an axis that begins at zero; where all is zero, one.
func upTo(most float64) float64 {
	if most <= 0 {
		return 1
	}
	return most
}
