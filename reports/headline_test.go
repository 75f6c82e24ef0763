package reports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/reports/internal/text"
	"spindle/reports/stat"
)

// The opening and the tables show one number for one change: an interval as
// wide as 100 % leaves two digits of 154.6 %, one of 2 % leaves a decimal.
func TestRangeOf(t *testing.T) {
	wide := stat.Verdict{Change: 1.546, Low: 1.1, High: 2.1}
	close := stat.Verdict{Change: 0.1281, Low: 0.118, High: 0.138}
	many := stat.Verdict{Change: 19, Low: 18.3, High: 19.7}
	for want, vs := range map[string][]stat.Verdict{
		"+150 %":           {wide},
		"+12.8 to +150 %":  {wide, close},
		"+12.8 %":          {close, close},
		"+12.8 % to 20.0x": {close, wide, many},
		"":                 {close, {Scale: stat.Difference, Change: 3, Low: 2, High: 4}},
	} {
		var ks []*comparison
		for _, v := range vs {
			ks = append(ks, &comparison{verdict: v})
		}
		if d := cmp.Diff(want, strings.ReplaceAll(rangeOf(ks), text.NBSP, " ")); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}
