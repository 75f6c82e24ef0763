package machine

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/progress"

	"github.com/google/go-cmp/cmp"
)

// fakeQEMU is a shell script in QEMU's place.
func fakeQEMU(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "qemu")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// qmpSays plays QEMU's monitor, which is descriptor 4, and says things on the
// console, which is 3.
const qmpSays = `
printf '{"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 0}, "package": ""}}}\n' >&4
read line <&4
printf '{"return": {}, "id": "spindle-1"}\n' >&4
`

func TestProbe(t *testing.T) {
	here := host{Release: "6.1", CPU: "EPYC", QEMU: "7.2", User: 0, Boot: "today"}
	elsewhen := here
	elsewhen.Boot = "yesterday"
	other := here
	other.QEMU = "9.0"
	const broken = `echo "error: failed to set MSR 0x10a" >&2; echo "Assertion failed." >&2; kill -ABRT $$`
	const silent = qmpSays + "exec sleep 60"
	const works = qmpSays + `printf 'spindle: init v1\r\n' >&3; exec sleep 60`
	const dies = qmpSays + `printf '[    0.000000] Linux version 6.12\r\n' >&3; kill -ABRT $$`

	tests := map[string]struct {
		want     Accel // of the plan
		noDevice bool
		qemu     string
		earlier  *probed

		accel  Accel
		err    string
		says   string
		stored *probed // nil: no new result
	}{
		"works":            {qemu: works, accel: KVM, stored: &probed{Host: here, KVM: true}},
		"works, asked for": {want: KVM, qemu: works, accel: KVM, stored: &probed{Host: here, KVM: true}},
		"tcg asked for":    {want: TCG, qemu: "exit 1", accel: TCG},
		"no device":        {noDevice: true, qemu: works, accel: TCG, says: "no such file"},
		"no device, asked for": {want: KVM, noDevice: true, qemu: works,
			err: "accel: kvm: open "},
		"QEMU aborts": {qemu: broken, accel: TCG, says: "QEMU does not start with it: Assertion failed.",
			stored: &probed{Host: here, Why: "QEMU does not start with it: Assertion failed."}},
		"QEMU aborts, asked for": {want: KVM, qemu: broken, err: "accel: kvm: QEMU does not start with it: Assertion failed.",
			stored: &probed{Host: here, Why: "QEMU does not start with it: Assertion failed."}},
		"guest hangs": {qemu: silent, accel: TCG, says: "within 1s the guest printed 0 lines",
			stored: &probed{Host: here, Why: "/dev/kvm opens, but within 1s the guest printed 0 lines and did not come to its init"}},
		"QEMU dies":                         {qemu: dies, accel: TCG, says: "did not come to its init: qemu"},
		"worked before":                     {qemu: broken, earlier: &probed{Host: here, KVM: true}, accel: KVM},
		"worked before the reboot":          {qemu: broken, earlier: &probed{Host: elsewhen, KVM: true}, accel: KVM},
		"did not work before":               {qemu: works, earlier: &probed{Host: here, Why: "it hung"}, accel: TCG, says: "kvm did not work when it was tried; "},
		"did not work before the reboot":    {qemu: works, earlier: &probed{Host: elsewhen, Why: "it hung"}, accel: KVM, stored: &probed{Host: here, KVM: true}},
		"worked with another QEMU":          {qemu: broken, earlier: &probed{Host: other, KVM: true}, accel: TCG, says: "Assertion failed."},
		"did not work before, other device": {noDevice: true, qemu: works, earlier: &probed{Host: here, KVM: true}, accel: TCG, says: "no such file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			device := filepath.Join(t.TempDir(), "kvm")
			if !test.noDevice {
				if err := os.WriteFile(device, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var log strings.Builder
			p := prober{device: device, host: here, limit: time.Minute, dir: dir, log: progress.New(&log, false, time.Now)}
			if test.qemu == silent {
				p.limit = time.Second
			}
			if test.earlier != nil {
				if err := p.remember(*test.earlier); err != nil {
					t.Fatal(err)
				}
			}
			if why, known := p.known(); known != (test.noDevice || test.earlier != nil && test.stored == nil && test.earlier.Host != other) || known && why != "" && test.accel == KVM {
				t.Errorf("known before any boot: %v, %q", known, why)
			}
			cfg := Config{QEMU: fakeQEMU(t, test.qemu), Kernel: "vmlinux", Memory: 64 << 20, Accel: test.want}
			got, err := p.probe(t.Context(), cfg)
			if got != test.accel {
				t.Errorf("accelerator %q, want %q", got, test.accel)
			}
			if (err == nil) != (test.err == "") || err != nil && (!strings.Contains(err.Error(), test.err) || fault.Of(err) != fault.Plan) {
				t.Errorf("error %v, want a plan fault with %q", err, test.err)
			}
			if !strings.Contains(log.String(), test.says) {
				t.Errorf("log %q, want %q in it", log.String(), test.says)
			}
			if test.stored == nil {
				return
			}
			b, err := os.ReadFile(filepath.Join(dir, AccelFile))
			if err != nil {
				t.Fatal(err)
			}
			var stored probed
			if err := json.Unmarshal(b, &stored); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*test.stored, stored); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			entries, _ := os.ReadDir(dir)
			if len(entries) != 1 {
				t.Errorf("left in the cache: %v", entries)
			}
		})
	}
}

// A probe that was interrupted proves nothing.
func TestProbeInterrupted(t *testing.T) {
	dir, device := t.TempDir(), filepath.Join(t.TempDir(), "kvm")
	if err := os.WriteFile(device, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	p := prober{device: device, limit: time.Minute, dir: dir}
	_, err := p.probe(ctx, Config{QEMU: fakeQEMU(t, qmpSays+"exec sleep 60"), Kernel: "vmlinux", Memory: 64 << 20})
	if err == nil {
		t.Fatal("no error")
	}
	if _, ok := p.remembered(); ok {
		t.Error("something was kept")
	}
}

func TestCPUModel(t *testing.T) {
	const cpuinfo = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9B14\n\nprocessor\t: 1\nmodel name\t: other\n"
	if got := cpuModel(cpuinfo); got != "AMD EPYC 9B14" {
		t.Errorf("got %q", got)
	}
	if got := cpuModel("processor : 0\n"); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestParseVersion(t *testing.T) {
	tests := map[string]string{ // from Debian 12, Fedora 40 and a build from git
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\nCopyright (c) 2003-2022 Fabrice Bellard\n": "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)",
		"QEMU emulator version 8.2.8 (qemu-8.2.8-1.fc40)\n":                                                      "8.2.8 (qemu-8.2.8-1.fc40)",
		"QEMU emulator version 9.1.50 (v9.1.0-1234-gabcdef)":                                                     "9.1.50 (v9.1.0-1234-gabcdef)",
		"":                         "",
		"qemu: unknown option\n":   "",
		"QEMU emulator version \n": "",
	}
	for in, want := range tests {
		got, err := parseVersion(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q gives %q, %v, want %q", in, got, err, want)
		}
	}
}
