package pipeline

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/images"
	"spindle/kernels"
	"spindle/pipeline/machine"
	"spindle/reports/record"
)

// kitOf is a kit with nothing in it that could boot.
func kitOf(p *Plan) *Kit {
	k := &Kit{
		Kernels: map[string]kernels.Artifact{}, Guest: strings.Repeat("5e", 32), Accel: machine.TCG, Version: "7.2.22",
		Image: images.Image{Suite: "bookworm", Hash: strings.Repeat("1a", 32), Packages: map[string]string{"coreutils": "9.1-1"}},
	}
	if p.Virtual() {
		k.Accel, k.Version = virtualAccel, ""
	}
	for name := range p.Kernels {
		k.Kernels[name] = kernels.Artifact{Source: name + "=1", Version: "6.12.57", Hash: strings.Repeat("9f", 32)}
	}
	return k
}

func envAt(seconds int64) Env {
	return Env{Now: func() time.Time { return time.Unix(seconds, 0) }, Version: "v1", Command: []string{"spindle", "run"}}
}

// A manifest that went through its file is the same as one made anew, later
// and by another version: else no run could be resumed.
func TestSameAfterReading(t *testing.T) {
	demo, _ := Embedded("demo")
	for _, text := range []string{whole, string(demo), least, slowAndFast} {
		p := load(t, text)
		dir := filepath.Join(t.TempDir(), "run")
		r, err := record.Create(dir, manifest(envAt(1), kitOf(p), p))
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if r, err = record.Open(dir); err != nil {
			t.Fatal(err)
		}
		again, err := Load(r.Manifest().Plan.Path, []byte(r.Manifest().Plan.Text))
		if err != nil {
			t.Fatal(err)
		}
		now := envAt(2)
		now.Version = "v2"
		if err := same(r.Manifest(), manifest(now, kitOf(again), again)); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

func TestSame(t *testing.T) {
	p := load(t, slowAndFast)
	for _, tc := range []struct {
		change func(k *Kit, m *record.Manifest)
		want   string
	}{
		{func(k *Kit, m *record.Manifest) { k.Accel = machine.KVM }, "accelerator changed since its samples were made: was tcg, is kvm"},
		{func(k *Kit, m *record.Manifest) { k.Version = "8.2.0" }, "QEMU changed since its samples were made: was 7.2.22, is 8.2.0"},
		{func(k *Kit, m *record.Manifest) { k.Image.Hash = "2b" }, "image changed since its samples were made: was " + strings.Repeat("1a", 32) + ", is 2b"},
		{func(k *Kit, m *record.Manifest) { k.Guest = "6f" }, "guest program changed since its samples were made: was " + strings.Repeat("5e", 32) + ", is 6f"},
		{func(k *Kit, m *record.Manifest) { k.Kernels["k"] = kernels.Artifact{Hash: "77"} }, "kernel k changed since its samples were made: was " + strings.Repeat("9f", 32) + ", is 77"},
		{func(k *Kit, m *record.Manifest) { m.Machine.Host.Kernel += "-other" }, "host changed since its samples were made: "},
		{func(k *Kit, m *record.Manifest) { m.Machine.Host.CPU = "Another CPU" }, "host changed since its samples were made: "},
		{func(k *Kit, m *record.Manifest) { m.Blocks[1][0], m.Blocks[1][2] = m.Blocks[1][2], m.Blocks[1][0] }, "layout changed since its samples were made"},
		{func(k *Kit, m *record.Manifest) { m.Drives[0].Params[0].Text += "." }, "drives changed since its samples were made"},
		{func(k *Kit, m *record.Manifest) { m.Spindle, m.Started = "v9", time.Time{} }, ""},
	} {
		k := kitOf(p)
		was := manifest(envAt(1), k, p)
		m := manifest(envAt(1), k, p)
		tc.change(k, &m)
		now := manifest(envAt(1), k, p)
		// What is not the kit's was changed in the manifest itself.
		now.Machine.Host, now.Blocks, now.Drives, now.Spindle, now.Started = m.Machine.Host, m.Blocks, m.Drives, m.Spindle, m.Started
		err := same(was, now)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("refused: %v", err)
		case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)):
			t.Errorf("got %v\nwant %s", err, tc.want)
		}
	}
}

// pin gives packages the versions that the run had, and leaves paths alone.
func TestPin(t *testing.T) {
	p := load(t, whole)
	pin(p, manifest(envAt(1), kitOf(p), p))
	if p.Kernels["base"].Deb != "base=1" || !cmp.Equal(p.Kernels["mine"], kernels.Source{Path: "/boot/bzImage", Modules: "/srv/mods"}) {
		t.Errorf("kernels %+v", p.Kernels)
	}

	// Source code is pinned too, whatever was made of it.
	for _, made := range []string{"", ", um", " + 1 patch (4aea06d26e9d)", " + 3 patches (a9ef35073ec3), um"} {
		const want = "linux-source-6.12=6.12.118-1"
		p := load(t, strings.Replace(whole, "deb: linux-image-6.12-amd64", "deb: linux-source-6.12", 1))
		pin(p, record.Manifest{Kernels: []record.Kernel{{Name: "base", Source: want + made}}})
		if k := p.Kernels["base"]; k.Deb != want || k.Validate() != nil {
			t.Errorf("pinned to %q: %v", k.Deb, k.Validate())
		}
	}
}

func TestPlace(t *testing.T) {
	p := &Plan{File: "plans/mine.yaml"}
	for _, tc := range []struct{ home, path, want string }{
		{"/home/me", "", ""},
		{"/home/me", "/boot/bzImage", "/boot/bzImage"},
		{"/home/me", "bzImage", "plans/bzImage"},
		{"/home/me", "../linux/bzImage", "linux/bzImage"},
		{"/home/me", "~/linux/bzImage", "/home/me/linux/bzImage"},
		{"", "~/linux/bzImage", "plans/~/linux/bzImage"},
	} {
		got := Env{Home: tc.home}.place(p, kernels.Source{Path: tc.path, Modules: tc.path})
		if got.Path != tc.want || got.Modules != tc.want {
			t.Errorf("%q with home %q: %+v, want %q", tc.path, tc.home, got, tc.want)
		}
	}
}
