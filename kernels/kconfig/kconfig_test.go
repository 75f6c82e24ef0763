package kconfig

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// Every symbol that spindle asks for has a reason, and every fragment reads.
func TestFragments(t *testing.T) {
	for _, name := range append(Names(), Fixed) {
		text, err := Fragment(name)
		if err != nil {
			t.Fatal(err)
		}
		asks, err := Asks(name, text)
		if err != nil {
			t.Fatal(err)
		}
		if len(asks) == 0 && name != "tiny" {
			t.Errorf("%s asks for nothing", name)
		}
		if !strings.HasPrefix(text, "# ") {
			t.Errorf("%s does not begin with what it is for", name)
		}
	}
	for _, arch := range []string{"x86_64", "um"} {
		for _, name := range Default(arch) {
			if _, err := Fragment(name); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := Fragment("gest"); err == nil || !strings.Contains(err.Error(), "guest, nfs") {
		t.Errorf("%v", err)
	}
}

func TestAsks(t *testing.T) {
	got, err := Asks("x", "# about all\n\n# why A\n# and more\nCONFIG_A=y\nCONFIG_B=m\n# why C\n# CONFIG_C is not set\n\nCONFIG_D=\"a b\"\n")
	want := []Ask{
		{"CONFIG_A", "y", "why A and more", "x"}, {"CONFIG_B", "m", "why A and more", "x"},
		{"CONFIG_C", "n", "why C", "x"}, {"CONFIG_D", "a b", "", "x"},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := Asks("mine.config", "CONFIG_A=y\nEXT4=y\n"); err == nil || !strings.HasPrefix(err.Error(), "mine.config:2: ") {
		t.Errorf("%v", err)
	}
	merged := Merge([]Ask{{"CONFIG_B", "y", "", "1"}, {"CONFIG_A", "y", "", "1"}}, []Ask{{"CONFIG_B", "n", "", "2"}, {"CONFIG_S", `a "q" \`, "", "2"}, {"CONFIG_N", "250", "", "2"}, {"CONFIG_E", "", "", "2"}})
	text := Text(merged)
	if want := "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_E=\"\"\nCONFIG_N=250\nCONFIG_S=\"a \\\"q\\\" \\\\\"\n"; text != want {
		t.Errorf("%q", text)
	}
	c, err := Parse(strings.NewReader(text))
	if err != nil || c["CONFIG_S"] != `a "q" \` {
		t.Errorf("%v, %v", c, err)
	}
}

// The values are by hand from kconfig-language.rst.
func TestExpr(t *testing.T) {
	c := Config{"CONFIG_Y": "y", "CONFIG_M": "m", "CONFIG_N": "n", "CONFIG_V": "120200", "CONFIG_S": "text"}
	for text, want := range map[string]int{
		"Y": yes, "M": mod, "N": no, "UNKNOWN": no, "!N": yes, "!M": mod, "!Y": no,
		"Y && M": mod, "M || Y": yes, "Y && N || M": mod, "Y && (N || M)": mod, "!(Y && N)": yes,
		"Y = y": yes, "M=y": no, "M!=n": yes, "UNKNOWN = n": yes, "V >= 120000": yes, "V<90000": no,
		`S = "text"`: yes, `S != "text"`: no, "y": yes, "m": mod, "n": no,
		"$(cc-option,-fno-x)": yes, "$(success,test (a) = b) && N": no, "Y # comment": yes,
	} {
		e, err := parseExpr(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := e.eval(c); got != want {
			t.Errorf("%s is %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{"", "Y &&", "(Y", "Y)", "&& Y", "Y =", "!", "Y M"} {
		if e, err := parseExpr(text); err == nil {
			t.Errorf("%q is read as %s", text, e)
		}
	}
}

func FuzzParseExpr(f *testing.F) {
	for _, s := range []string{"A && B", "!(A || B=y) && $(cc,-x (y))", `A != "x\"y"`, "((((", "$(", "A<=B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := parseExpr(s)
		if err != nil {
			return
		}
		v := e.eval(Config{"CONFIG_A": "y"})
		if v < no || v > yes {
			t.Errorf("%q is %d", s, v)
		}
		// What is written is read as the same.
		again, err := parseExpr(e.String())
		if err != nil || again.String() != e.String() {
			t.Errorf("%q is written as %q: %v", s, e, err)
		}
	})
}

const root = `
mainmenu "Linux"
source "arch/$(SRCARCH)/Kconfig"
source "fs/Kconfig"
`

const arch = `
config X86
	def_bool y
	select HAVE_SOMETHING

config HAVE_SOMETHING
	bool

choice
	prompt "Compression"
	default KERNEL_GZIP

config KERNEL_GZIP
	bool "Gzip"

config KERNEL_LZ4
	bool "LZ4"
	help
	  Not to be read:
	  config FAKE
	    bool "fake"

endchoice
`

const filesystems = `
menu "File systems"
	depends on BLOCK

config EXT4_FS
	tristate "ext4"
	select CRC \
		if X86

if EXT4_FS
config EXT4_DEBUG
	bool "debug" if EXPERT
	depends on DEBUG_FS || TRACE
endif

endmenu

config CRC
	tristate

config BLOCK
	bool "block layer" if EXPERT
	default y
`

func readTree(t testing.TB, files map[string]string) *Tree {
	t.Helper()
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := Read(m, map[string]string{"SRCARCH": "x86"})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestCheck(t *testing.T) {
	tree := readTree(t, map[string]string{"Kconfig": root, "arch/x86/Kconfig": arch, "fs/Kconfig": filesystems})
	if tree.Defined("FAKE") || !tree.Defined("CONFIG_EXT4_DEBUG") || !tree.Defined("CRC") {
		t.Error("symbols are not those of the files")
	}
	for name, tt := range map[string]struct {
		config Config
		ask    string
		want   string // "" if it is met
	}{
		"met":                 {Config{"CONFIG_BLOCK": "y"}, "CONFIG_BLOCK=y", ""},
		"off":                 {Config{}, "# CONFIG_BLOCK is not set", ""},
		"off by number":       {Config{"CONFIG_BLOCK": "0"}, "# CONFIG_BLOCK is not set", ""},
		"unknown and off":     {Config{}, "# CONFIG_NOTHING is not set", ""},
		"unknown":             {Config{}, "CONFIG_NOTHING=y", "CONFIG_NOTHING=y (f): this kernel has no such symbol"},
		"built in for module": {Config{"CONFIG_EXT4_FS": "y"}, "CONFIG_EXT4_FS=m", ""},
		"module for built in": {Config{"CONFIG_EXT4_FS": "m", "CONFIG_BLOCK": "y", "CONFIG_MODULES": "y"}, "CONFIG_EXT4_FS=y", "CONFIG_EXT4_FS=y (f): it is m"},
		"menu":                {Config{}, "CONFIG_EXT4_FS=y", "CONFIG_EXT4_FS=y (f): it is n: it depends on BLOCK, which is n"},
		"if and depends": {Config{"CONFIG_BLOCK": "y"}, "CONFIG_EXT4_DEBUG=y",
			"CONFIG_EXT4_DEBUG=y (f): it is n: it depends on DEBUG_FS || TRACE (DEBUG_FS is n, TRACE is n) and on EXT4_FS, which is n"},
		"prompt": {Config{"CONFIG_BLOCK": "y", "CONFIG_EXT4_FS": "y", "CONFIG_TRACE": "y"}, "CONFIG_EXT4_DEBUG=y",
			"CONFIG_EXT4_DEBUG=y (f): it is n: it depends on EXPERT, which is n"},
		"selected only": {Config{}, "CONFIG_HAVE_SOMETHING=y", "CONFIG_HAVE_SOMETHING=y (f): it is n: nobody can set it: it is selected by X86"},
		"selected on":   {Config{"CONFIG_CRC": "y", "CONFIG_EXT4_FS": "y"}, "# CONFIG_CRC is not set", "CONFIG_CRC=n (f): it is y: it is selected by EXT4_FS"},
		"choice":        {Config{"CONFIG_KERNEL_GZIP": "y"}, "CONFIG_KERNEL_LZ4=y", "CONFIG_KERNEL_LZ4=y (f): it is n: of its choice KERNEL_GZIP was taken"},
	} {
		asks, err := Asks("f", tt.ask+"\n")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range Check(tree, tt.config, asks) {
			got += p.String()
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(root + arch + filesystems)
	f.Add("if A\nendif\nendif\nendmenu\nconfig\nconfig X\nhelp\n\tx\n  y\nconfig Y\n")
	f.Add("source \"Kconfig\"\n")
	f.Add("config A\n\tbool \"x\" if (\n\tdepends on\n\tselect\n\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "source") {
			text = strings.ReplaceAll(text, "source", "osource")
		}
		tree, err := Read(fstest.MapFS{"Kconfig": {Data: []byte(text)}}, nil)
		if err == nil {
			Check(tree, Config{}, []Ask{{"CONFIG_A", "y", "", ""}, {"CONFIG_X", "m", "", ""}})
		}
	})
}
