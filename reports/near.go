package reports

import (
	"math"
	"regexp"
	"strings"

	"spindle/internal/unit"
)

// exactSize is a size or a rate in text that spindle made.
var exactSize = regexp.MustCompile(`\b[0-9]+(?:\.[0-9]+)?(?:[kKMGT]i?)?B(?:/s)?`)

// longSize is from how many characters on a size is not what people write.
const longSize = 10

// near writes the long sizes and rates of a text as people say them:
// "20.98876953125MiB/s" as "22.01MB/s", "488386584KiB" as "500.1GB". The
// manifest has the exact ones.
func near(text string) string {
	return exactSize.ReplaceAllStringFunc(text, func(s string) string {
		if len(s) < longSize {
			return s
		}
		if strings.HasSuffix(s, "/s") {
			r, err := unit.ParseRate(s)
			if err != nil || float64(r) > math.MaxInt64/2 {
				return s
			}
			return unit.Size(math.Round(float64(r))).Near() + "/s"
		}
		b, err := unit.ParseSize(s)
		if err != nil {
			return s
		}
		return b.Near()
	})
}
