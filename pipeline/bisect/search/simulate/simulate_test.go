package simulate

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestAll(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	i := -1
	for _, c := range Cases() {
		if g := os.Getenv("G"); g != "" && c.Table != g {
			continue
		}
		i++
		if r := os.Getenv("R"); r != "" && !strings.Contains(r, strconv.Itoa(i)) {
			continue
		}
		start := time.Now()
		r, err := Run(t.Context(), c, n, 1)
		if err != nil {
			t.Fatal(err)
		}
		Write(os.Stdout, []Row{r})
		out, _ := json.Marshal(r)
		fmt.Printf("%.1f s %s\n", time.Since(start).Seconds(), out)
	}
}
