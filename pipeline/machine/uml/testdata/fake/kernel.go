package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"strings"
)

// tail is text behind the program itself, from a line "#kernel" on: what a tree
// put there that "builds" its kernel out of this program. Its lines are words:
//
//	level 1.12   the runtime is so many times 90 s
//	panics       the kernel does
type tail struct {
	there  bool
	panics bool
	level  float64
	text   string // without the line of the version
}

func readTail() tail {
	t := tail{level: 1}
	self, err := os.ReadFile("/proc/self/exe")
	must(err)
	i := bytes.LastIndex(self, []byte("\n#kernel\n"))
	if i < 0 || len(self)-i > 1<<16 || bytes.IndexByte(self[i:], 0) >= 0 {
		return t
	}
	t.there = true
	for line := range strings.Lines(string(self[i+9:])) {
		var x float64
		if n, _ := fmt.Sscanf(line, "level %g", &x); n == 1 {
			t.level *= x
		}
		t.panics = t.panics || strings.HasPrefix(line, "panics")
		if !strings.HasPrefix(line, "#version") {
			t.text += line
		}
	}
	return t
}

// result is what the guest would have measured: it scatters by 1 % with the seed
// and the code.
func (t tail) result() string {
	h := fnv.New64()
	fmt.Fprint(h, t.text)
	for _, a := range os.Args {
		if strings.HasPrefix(a, "tt-seed=") {
			fmt.Fprint(h, a)
		}
	}
	runtime := 90 * t.level * math.Exp(0.01*rand.New(rand.NewPCG(1, h.Sum64())).NormFloat64())
	text := fmt.Sprintf(`{"outcome":{"kind":"ok"},"metrics":[{"name":"runtime","unit":"s","direction":"lower","primary":true,"value":%g}]}`, runtime)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(w.WriteHeader(&tar.Header{Name: "result.json", Mode: 0o644, Size: int64(len(text))}))
	_, err := w.Write([]byte(text))
	must(err)
	must(w.Close())
	return b.String()
}
