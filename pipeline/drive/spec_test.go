package drive

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
)

func TestSpecYAML(t *testing.T) {
	const text = "profile: sata-7200\nqueue-depth: 1\nbus: virtio-scsi\nsize: 20GiB\nmedia-rate: 40MB/s\nwrite-cache: off\n"
	var got Spec
	if err := yaml.UnmarshalWithOptions([]byte(text), &got, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	want := Spec{Profile: "sata-7200", QueueDepth: 1, Bus: VirtioSCSI, Size: 20 << 30, MediaRate: 40e6, WriteCache: "off"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	out, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var back Spec
	if err := yaml.Unmarshal(out, &back); err != nil || back != got {
		t.Errorf("written and read back: %+v, %v", back, err)
	}
}

func TestSpecValidate(t *testing.T) {
	for _, tt := range []struct {
		s    Spec
		want string // "" is valid
	}{
		{Spec{Profile: "sata-7200"}, ""},
		{Spec{Profile: "raw", Size: 1 << 30, Bus: VirtioBlk}, ""},
		{Spec{Profile: "sata-7200", QueueDepth: 31, MediaRate: 20e6, Size: 10 << 30, WriteCache: "on"}, ""},
		{Spec{}, "profile: missing; there are raw, sata-7200"},
		{Spec{Profile: "floppy"}, `profile "floppy": unknown; there are raw, sata-7200`},
		{Spec{Profile: "../profiles/raw"}, "unknown"},
		{Spec{Profile: "sata-7200", Bus: "ide"}, `bus "ide": not one of ahci, virtio-scsi, virtio-blk, megasas, usb, nvme`},
		{Spec{Profile: "sata-7200", QueueDepth: 32}, "queue-depth 32: this drive takes 1 to 31"},
		{Spec{Profile: "sata-7200", QueueDepth: -1}, "queue-depth -1"},
		{Spec{Profile: "sata-7200", Size: 2e12}, "more than the"},
		{Spec{Profile: "sata-7200", Size: 1000}, "not a multiple of 4096"},
		{Spec{Profile: "sata-7200", WriteCache: "maybe"}, `write-cache "maybe": not on or off`},
		{Spec{Profile: "sata-7200", MediaRate: 1}, "media-rate"},
		{Spec{Profile: "raw", MediaRate: 1e6}, "this drive has no timing"},
	} {
		err := tt.s.Validate()
		switch {
		case tt.want == "":
			if err != nil {
				t.Errorf("%+v: %v", tt.s, err)
			}
		case err == nil || !strings.Contains(err.Error(), tt.want) || fault.Of(err) != fault.Plan:
			t.Errorf("%+v: %v (%v), want %q", tt.s, err, fault.Of(err), tt.want)
		}
	}
}

func TestDevice(t *testing.T) {
	for _, tt := range []struct {
		s    Spec
		want Device
	}{
		// 976773168 sectors, less what is beyond the last whole 4 KiB.
		{Spec{Profile: "sata-7200"}, Device{Size: 976773168 * 512, Bus: AHCI, Rotation: 7200, QueueDepth: 31, WriteCache: true}},
		{Spec{Profile: "sata-7200", QueueDepth: 1, Bus: VirtioSCSI, Size: 1 << 30, WriteCache: "off"},
			Device{Size: 1 << 30, Bus: VirtioSCSI, Rotation: 7200, QueueDepth: 1}},
		{Spec{Profile: "raw"}, Device{Size: 1 << 40, Bus: AHCI, QueueDepth: 31, WriteCache: true}},
	} {
		got, err := tt.s.Device()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.s, d)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, tt := range []struct {
		s    Spec
		want []string
	}{
		{Spec{Profile: "sata-7200", QueueDepth: 1}, []string{"sata-7200 (SATA disk of 2010), ahci, 500.1 GB, 7200 rpm, queue depth 1, write-back cache 16MiB, sequential 114.5 MB/s, random 4 KiB read 12.6 ms"}},
		{Spec{Profile: "sata-7200", Size: 10 << 30, MediaRate: 40e6, WriteCache: "off"}, []string{"the first 10.74 of 500.1 GB", "write through", "sequential 40.0 MB/s (rescaled from 114.5)"}},
		{Spec{Profile: "raw"}, []string{"raw (untimed), ahci, 1100 GB"}},
		{Spec{Profile: "x"}, []string{"not valid"}},
	} {
		got := tt.s.Describe()
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%+v: %q lacks %q", tt.s, got, want)
			}
		}
		if strings.Contains(got, "\n") {
			t.Errorf("%q is more than a line", got)
		}
	}
}

// All profiles are good, and bad ones are refused with the place.
func TestProfiles(t *testing.T) {
	for _, name := range Profiles() {
		if _, err := lookup(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, tt := range []struct{ text, want string }{
		{"title: x", "exactly one of the sections"},
		{"raw: {capacity: 1GB}\ndisk: {rpm: 1}", "exactly one of the sections"},
		{"raw: {}", "raw: capacity"},
		{"disk: {capacity: 1GB}", "disk: rpm"},
		{"disk: {capacity: 1GB, sides: 2}", `unknown field "sides"`},
		{"disk: {capacity: 1}", "size"},
	} {
		if _, err := parseProfile([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

func FuzzProfile(f *testing.F) {
	for _, name := range Profiles() {
		data, err := profiles.ReadFile("profiles/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("raw: {capacity: 0}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parseProfile(data)
		if err == nil && (p.capacity() <= 0 || p.maxDepth() < 1) {
			t.Errorf("accepted %+v", p)
		}
	})
}

// The media rate becomes what was asked for, and the first bytes of the disk
// seek less than all of it.
func TestExpectations(t *testing.T) {
	whole := Spec{Profile: "sata-7200"}
	for _, rate := range []float64{20e6, 40e6, 80e6} {
		s := whole
		s.MediaRate = unitRate(rate)
		within(t, "sequential rate", float64(s.SequentialRate())/rate, 0.995, 1.005)
		// Seeks and rotation stay; a shorter track takes longer per sector.
		within(t, "random read", float64(s.RandomReadMean4K())/float64(whole.RandomReadMean4K()), 0.99, 1.03)
	}
	short := whole
	short.Size = 10 << 30
	// 2 % of the disk: seeks of 1 to 2 ms, half a turn of 4.17 ms.
	within(t, "short-stroked read in ms", short.RandomReadMean4K().Seconds()*1e3, 5.2, 7)
}
