package kernels

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseConfig(t *testing.T) {
	got, err := ParseConfig(strings.NewReader(`#
# Automatically generated file; DO NOT EDIT.
# Linux/x86 6.12.9 Kernel Configuration
#
CONFIG_EXT4_FS=m
CONFIG_64BIT=y
# CONFIG_F2FS_FS is not set
CONFIG_HZ=250
CONFIG_PHYSICAL_START=0x1000000
CONFIG_LOCALVERSION=""
CONFIG_CMDLINE="a \"b\" \\c=1"
# end of it
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		"CONFIG_EXT4_FS": "m", "CONFIG_64BIT": "y", "CONFIG_F2FS_FS": "n", "CONFIG_HZ": "250",
		"CONFIG_PHYSICAL_START": "0x1000000", "CONFIG_LOCALVERSION": "", "CONFIG_CMDLINE": `a "b" \c=1`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for symbol, want := range map[string]bool{
		"EXT4_FS": true, "CONFIG_EXT4_FS": true, "64BIT": true,
		"F2FS_FS": false, "XFS_FS": false, "HZ": false,
	} {
		if got.Has(symbol) != want {
			t.Errorf("Has(%q) = %v", symbol, !want)
		}
	}
	if Config(nil).Has("EXT4_FS") {
		t.Error("an unknown configuration has ext4")
	}
	for text, want := range map[string]string{
		"CONFIG_A=y\nEXT4=y\n":  "line 2",
		"CONFIG_A=\"x\n":        "line 1",
		"CONFIG_A=\"x\"y\n":     "line 1",
		"CONFIG_A=\"x\\\n":      "line 1",
		"\x7fELF\x00\x00\x00\n": "line 1",
	} {
		if _, err := ParseConfig(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want one for %s", text, err, want)
		}
	}
}

func TestEmbeddedConfig(t *testing.T) {
	const text = "CONFIG_IKCONFIG=y\n"
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(text))
	w.Close()
	with := "code" + "IKCFG_ST in a message" + "IKCFG_ST" + z.String() + "IKCFG_ED" + "more code"
	if got, err := embeddedConfig([]byte(with)); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := embeddedConfig([]byte("IKCFG_ST, but no more")); err != nil || got != nil {
		t.Errorf("without: %q, %v", got, err)
	}
	if got, err := embeddedConfig(nil); err != nil || got != nil {
		t.Errorf("empty: %q, %v", got, err)
	}
	if _, err := embeddedConfig([]byte(with[:len(with)-len("IKCFG_EDmore code")-6])); err == nil {
		t.Error("cut short: no error")
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"x \\\" y\"\n#\n\n")
	f.Add("CONFIG_A=\"\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig(strings.NewReader(text))
		if err != nil {
			return
		}
		for symbol := range c {
			if !strings.HasPrefix(symbol, "CONFIG_") || strings.ContainsAny(symbol, " =\n") {
				t.Errorf("symbol %q", symbol)
			}
		}
		Lacks(c, Need{Filesystem: "ext2", Scheduler: "bfq", Bus: "ahci"})
	})
}
