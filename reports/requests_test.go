package reports

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Two requests of 10 ms, one after the other, the second forced and after a
// pause as long as both: the depth is 1 half of the time.
func TestRequests(t *testing.T) {
	dir := t.TempDir()
	text := "# arrived_ns\twait_ns\tservice_ns\top\tlba\tsectors\tseek\n" +
		"0\t1000000\t9000000\tR\t2000000\t8\t0\n" +
		"30000000\t0\t10000000\tW!\t4000000\t8\t1999992\n" +
		"40000000\t0\t0\tF\t0\t0\t0\n"
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, requestLog), z.EncodeAll([]byte(text), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := readRequests(dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.lba.X) != 2 || r.lba.Y[0] != 1.024 || r.lba.Y[1] != 2.048 || r.lba.Arm != 3 {
		t.Errorf("addresses %+v", r.lba)
	}
	longest := 0.0
	for _, y := range r.latency.Y {
		if !math.IsNaN(y) { // a bin in which none was done
			longest = max(longest, y)
		}
	}
	sum := 0.0
	for _, y := range r.depth.Y {
		sum += y
	}
	if longest != 10 || math.Abs(sum/requestBins-0.5) > 1e-9 {
		t.Errorf("longest %v ms, mean depth %v; want 10 and 0.5", longest, sum/requestBins)
	}
}

// A sample without the log has none; one with something else is an error.
func TestRequestsMissing(t *testing.T) {
	dir := t.TempDir()
	if r, err := readRequests(dir, 0); err != nil || len(r.depth.X) > 0 {
		t.Errorf("%v, %v", r, err)
	}
	os.WriteFile(filepath.Join(dir, requestLog), []byte("nothing of the kind"), 0o600)
	if _, err := readRequests(dir, 0); err == nil {
		t.Error("no error for a file that is no log")
	}
	for _, line := range []string{"", "1\t2", "a\t0\t0\tR\t0\t0\t0"} {
		if _, err := parseRequest(line); err == nil {
			t.Errorf("%q was read", line)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add("0\t1000000\t9000000\tR\t2000000\t8\t0")
	f.Fuzz(func(t *testing.T, line string) {
		if r, err := parseRequest(line); err == nil {
			bin([]request{r}, 0)
		}
	})
}
