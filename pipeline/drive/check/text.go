package check

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Text is the result as a table.
func (r Result) Text() string {
	var b strings.Builder
	where := "over NBD, without a guest"
	if r.Where == "guest" {
		where = "in an emulated guest"
	}
	fmt.Fprintf(&b, "%s\n%s; answers leave %.2f ms early, which is what the way back takes", r.Drive, where, r.Early.Seconds()*1e3)
	if r.Urgency != "" {
		fmt.Fprintf(&b, "; timing thread: %s", r.Urgency)
	}
	if r.Steal >= 0.001 {
		fmt.Fprintf(&b, "\na hypervisor took %.1f %% of this host's CPU time, and answers are late by it", r.Steal*100)
	}
	b.WriteString("\n\n")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "load\tdepth\tmodel\tmeasured\terror\tbound\tlate p50\tlate p99\n")
	for _, x := range r.Rows {
		limit := "-"
		if x.Bound > 0 {
			limit = fmt.Sprintf("%.0f %%", x.Bound*100)
		}
		mark := ""
		if x.Over() {
			mark = " !"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%+.1f %%%s\t%s\t%s\t%s\n", x.Load, x.Depth, figure(x.Model, x.Unit), figure(x.Measured, x.Unit),
			x.Error*100, mark, limit, micro(x.LatenessP50), micro(x.LatenessP99))
	}
	w.Flush()
	return b.String()
}

func figure(v float64, unit string) string {
	if unit == "/s" {
		return fmt.Sprintf("%.4g/s", v)
	}
	return fmt.Sprintf("%.4g %s", v, unit)
}

func micro(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	return fmt.Sprintf("%d µs", d.Microseconds())
}
