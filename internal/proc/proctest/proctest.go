// Package proctest lets tests say which host programs they need.
package proctest

import (
	"os"
	"strings"
	"testing"

	"spindle/internal/proc"
)

// Need looks for programs. Where one is missing the test is skipped, or fails
// under CI (CI=true in the environment): a host that is there to test must not
// pass by skipping.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	var missing []string
	for _, name := range programs {
		if _, err := proc.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	report := t.Skipf
	if os.Getenv("CI") == "true" {
		report = t.Fatalf
	}
	report("needs %s; run: go run ./cmd/spindle doctor --install", strings.Join(missing, ", "))
}
