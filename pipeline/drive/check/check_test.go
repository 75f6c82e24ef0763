package check

import (
	"testing"
	"time"

	"spindle/internal/proc/proctest"
	"spindle/pipeline/drive"
)

func TestTry(t *testing.T) {
	proctest.Need(t, "fio")
	for _, p := range []string{"sata-7200"} {
		r, err := Direct(t.Context(), drive.Spec{Profile: p}, Options{Seconds: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range r.Rows {
			t.Logf("%+v", x)
		}
	}
}
