package simulate

import (
	"os"
	"strconv"
	"testing"
)

func TestAll(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	if n == 0 {
		n = 40
	}
	var rows []Row
	for _, c := range Cases() {
		if g := os.Getenv("G"); g != "" && c.Table != g {
			continue
		}
		r, err := Run(t.Context(), c, n, 1)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	Write(os.Stdout, rows)
}
