package reports

import (
	"spindle/reports/record"
	"spindle/reports/stat"
)

// Shape says how the values of a metric are made, by its name.
func Shape(m record.MetricInfo) stat.Shape {
	if isTail(m) {
		return stat.Tail
	}
	return stat.Level
}
