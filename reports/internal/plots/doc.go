// Package plots draws the pictures beside a report, as SVG and PNG: every
// sample of a metric as a dot ([Dots]), and counters over the time of a sample
// ([Lines]).
//
// Arms are told apart by shape or dash as well as by shade, so that pictures
// survive a black and white printer. The same values give the same bytes.
package plots
