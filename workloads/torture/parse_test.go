package torture

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The three blocks of the thread of April 2011, as it quotes them: Mason's own
// build, and Goyal's first and second run.
const (
	mason = `> > # fsync-tester
> > setting up random write file
> > done setting up random write file
> > starting fsync run
> > starting random io!
> > write time 0.0009s fsync time: 2.0142s
> > write time 128.9305s fsync time: 2.6046s
> > run done 2 fsyncs total, killing random writer
`
	goyalFirst = `> # ./a.out 
> setting up random write file
> done setting up random write file
> starting fsync run
> starting random io!
> write time: 0.0006s fsync time: 0.3400s
> write time: 63.3270s fsync time: 0.3760s
> run done 2 fsyncs total, killing random writer
`
	goyalSecond = `> # ./a.out 
> starting fsync run
> starting random io!
> write time: 0.0006s fsync time: 0.5359s
> write time: 0.0007s fsync time: 0.3559s
> write time: 0.0009s fsync time: 0.3113s
> write time: 0.0008s fsync time: 0.4336s
> write time: 0.0009s fsync time: 0.3780s
> write time: 0.0008s fsync time: 0.3114s
> write time: 0.0009s fsync time: 0.3225s
> write time: 0.0009s fsync time: 0.3891s
> write time: 0.0009s fsync time: 0.4336s
> write time: 0.0009s fsync time: 0.4225s
> write time: 0.0009s fsync time: 0.4114s
> write time: 0.0007s fsync time: 0.4004s
`
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Printed{
		mason:      {Fresh: true, Writes: []float64{0.0009, 128.9305}, Fsyncs: []float64{2.0142, 2.6046}, Done: 2},
		goyalFirst: {Fresh: true, Writes: []float64{0.0006, 63.3270}, Fsyncs: []float64{0.3400, 0.3760}, Done: 2},
		goyalSecond: {
			Writes: []float64{0.0006, 0.0007, 0.0009, 0.0008, 0.0009, 0.0008, 0.0009, 0.0009, 0.0009, 0.0009, 0.0009, 0.0007},
			Fsyncs: []float64{0.5359, 0.3559, 0.3113, 0.4336, 0.3780, 0.3114, 0.3225, 0.3891, 0.4336, 0.4225, 0.4114, 0.4004},
		},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
	if _, err := Parse("setting up random write file\n"); err == nil {
		t.Error("no times are no error")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(mason)
	f.Add(goyalSecond)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err == nil && len(p.Writes) != len(p.Fsyncs) {
			t.Errorf("%+v", p)
		}
	})
}
