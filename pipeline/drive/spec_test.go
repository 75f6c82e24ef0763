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
	if err := yaml.Unmarshal(out, &back); err != nil || !cmp.Equal(back, got) {
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
		{Spec{}, "profile: missing; there are ideal, nlsas-2t, nvme, raw, sata-5400, sata-7200, ssd-sata, usb-25"},
		{Spec{Profile: "floppy"}, `profile "floppy": unknown; there are ideal, nlsas-2t, nvme, raw, sata-5400, sata-7200, ssd-sata, usb-25`},
		{Spec{Profile: "../nosuch.yaml"}, "read profile: open ../nosuch.yaml: no such file"},
		{Spec{Profile: "sata-7200", Bus: "ide"}, `bus "ide": not one of ahci, virtio-scsi, virtio-blk, megasas, usb, nvme`},
		{Spec{Profile: "sata-7200", QueueDepth: 32}, "queue-depth 32: this drive takes 1 to 31"},
		{Spec{Profile: "sata-7200", QueueDepth: -1}, "queue-depth -1"},
		{Spec{Profile: "sata-7200", Size: 2e12}, "more than the"},
		{Spec{Profile: "sata-7200", Size: 1000}, "not a multiple of 4096"},
		{Spec{Profile: "sata-7200", WriteCache: "maybe"}, `write-cache "maybe": not on or off`},
		{Spec{Profile: "sata-7200", MediaRate: 1}, "media-rate 1B/s: a track would hold fewer than 8"},
		{Spec{Profile: "sata-7200", MediaRate: 99999e9}, "media-rate 99999GB/s: a track would hold fewer than 8 or more than 1048576 sectors; the drive itself has 114.5MB/s"},
		{Spec{Profile: "raw", MediaRate: 1e6}, "this drive has no timing"},
		{Spec{Profile: "nlsas-2t", Count: 12, RAID: "0", Stripe: 64 << 10, ControllerCache: 512 << 20, Bus: MegaSAS}, ""},
		{Spec{Profile: "nlsas-2t", Count: 4, RAID: "10", QueueDepth: 256, MediaRate: 50e6}, ""},
		{Spec{Profile: "nlsas-2t", Count: 12}, "say which raid"},
		{Spec{Profile: "nlsas-2t", RAID: "0"}, "count 0: an array takes 2 to 32"},
		{Spec{Profile: "nlsas-2t", Count: 33, RAID: "0"}, "count 33"},
		{Spec{Profile: "nlsas-2t", Count: -1}, "count -1: negative"},
		{Spec{Profile: "nlsas-2t", Count: 2, RAID: "5"}, "raid 5: takes at least 3 members, not 2"},
		{Spec{Profile: "nlsas-2t", Count: 2, RAID: "7"}, "raid 7: not one of"},
		{Spec{Profile: "nlsas-2t", Count: 2, RAID: "0", Stripe: 5000}, "stripe 5kB: not a power of two"},
		{Spec{Profile: "nlsas-2t", Count: 2, RAID: "0", Controller: "areca"}, `controller "areca": unknown; there are generic, h710, perc-6e`},
		{Spec{Profile: "nlsas-2t", Count: 2, RAID: "0", ControllerCache: 1000}, "controller-cache 1kB: not a multiple of 1MiB"},
		{Spec{Profile: "nlsas-2t", Stripe: 64 << 10}, "stripe: that is for arrays"},
		{Spec{Profile: "nlsas-2t", ControllerCache: 1 << 20}, "controller-cache: that is for arrays"},
		{Spec{Profile: "raw", Count: 2, RAID: "0"}, "raid: this drive has no timing"},
		{Spec{Profile: "usb-25", Count: 2, RAID: "0"}, "raid: this drive has a link of its own"},
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
		{Spec{Profile: "sata-7200"}, Device{Size: 976773168 * 512, Capacity: 976773168 * 512, Bus: AHCI, Rotation: 7200, QueueDepth: 31, WriteCache: true}},
		{Spec{Profile: "sata-7200", QueueDepth: 1, Bus: VirtioSCSI, Size: 1 << 30, WriteCache: "off"},
			Device{Size: 1 << 30, Capacity: 976773168 * 512, Bus: VirtioSCSI, Rotation: 7200, QueueDepth: 1}},
		{Spec{Profile: "raw"}, Device{Size: 1 << 40, Capacity: 1 << 40, Bus: AHCI, QueueDepth: 31, WriteCache: true}},
		{Spec{Profile: "ssd-sata"}, Device{Size: 488397168 * 512 / 4096 * 4096, Capacity: 488397168 * 512, Bus: AHCI, Rotation: 1, QueueDepth: 31, WriteCache: true}},
		{Spec{Profile: "usb-25"}, Device{Size: 976773168 * 512, Capacity: 976773168 * 512, Bus: USB, Rotation: 5400, QueueDepth: 1, WriteCache: true}},
		{Spec{Profile: "nvme"}, Device{Size: 976773168 * 512, Capacity: 976773168 * 512, Bus: NVMe, Rotation: 1, QueueDepth: 1023, WriteCache: true}},
		// Whole stripe units of each member; a cache of the controller is one.
		{Spec{Profile: "nlsas-2t", Count: 12, RAID: "0", Controller: "perc-6e"},
			Device{Size: 12 * (2000398934016 / 65536 * 65536), Capacity: 12 * (2000398934016 / 65536 * 65536), Bus: MegaSAS, Rotation: 7200, QueueDepth: 256, WriteCache: true}},
		{Spec{Profile: "raw", Size: 1 << 30}, Device{Size: 1 << 30, Capacity: 1 << 40, Bus: AHCI, QueueDepth: 31, WriteCache: true}},
		{Spec{Profile: "usb-25", Size: 1 << 30, Faults: []Fault{{EIO: &EIO{Length: 4096}}}},
			Device{Size: 1 << 30, Capacity: 976773168 * 512, Bus: USB, Rotation: 5400, QueueDepth: 1, WriteCache: true, Fails: true}},
		// A cache that is switched off is the controller's.
		{Spec{Profile: "nlsas-2t", Count: 2, RAID: "1", ControllerCache: 1 << 20, WriteCache: "off", QueueDepth: 32},
			Device{Size: 2000398934016 / 65536 * 65536, Capacity: 2000398934016 / 65536 * 65536, Bus: MegaSAS, Rotation: 7200, QueueDepth: 32}},
		{Spec{Profile: "nlsas-2t", Count: 4, RAID: "5", WriteCache: "off", QueueDepth: 32},
			Device{Size: 3 * (2000398934016 / 65536 * 65536), Capacity: 3 * (2000398934016 / 65536 * 65536), Bus: MegaSAS, Rotation: 7200, QueueDepth: 32}},
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
		{Spec{Profile: "nvme"}, []string{"nvme (NVMe SSD of 2018)", "emulation in real time cannot reach it"}},
		{Spec{Profile: "nlsas-2t", Count: 12, RAID: "0", ControllerCache: 256 << 20},
			[]string{"RAID 0 of 12 nlsas-2t", "stripe unit 64KiB", "generic controller", "controller cache 256MiB, non-volatile"}},
		{Spec{Profile: "sata-7200", Faults: []Fault{{ReadOnly: &ReadOnly{AfterWrites: 5}}}}, []string{"fault: read-only: after 5 writes"}},
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
		{"title: x\nraw: {}", "x.yaml:2:1: raw: capacity"},
		{"title: x\ndisk: {capacity: 1GB}", "x.yaml:2:1: disk: rpm"},
		{"disk: {capacity: 1GB, sides: 2}", `unknown key "sides"`},
		{"disk: {capacity: 1}", "size"},
	} {
		if _, err := parseProfile("x.yaml", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
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
		p, err := parseProfile("x.yaml", data)
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
