package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spindle/internal/fault"
	"spindle/kernels"
)

// guestConfig is what a guest takes at least: its root on squashfs under an
// overlay, virtio, a console.
const guestConfig = `CONFIG_BLK_DEV_INITRD=y
CONFIG_DEVTMPFS=y
CONFIG_TMPFS=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_CONSOLE=y
CONFIG_SQUASHFS=y
CONFIG_SQUASHFS_LZ4=y
CONFIG_OVERLAY_FS=y
CONFIG_SERIAL_8250_CONSOLE=y
CONFIG_BLK_DEV_SD=y
CONFIG_SCSI_VIRTIO=y
CONFIG_SATA_AHCI=y
CONFIG_EXT4_FS=y
CONFIG_XFS_FS=y
CONFIG_IOSCHED_BFQ=y
CONFIG_MQ_IOSCHED_DEADLINE=y
`

func kernelWith(t *testing.T, source, config string) kernels.Artifact {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	return kernels.Artifact{Config: file, Source: source}
}

const asks = `name: n
kernels:
  old: {deb: linux-image-6.1-amd64}
  new: {deb: linux-image-6.12-amd64}
  spare: {deb: linux-image-6.12-amd64}
drives:
  sata: {profile: sata-7200, bus: ahci}
  scsi:
    bus: virtio-scsi
    profile: sata-7200
arms:
  a: {kernel: old}
  b: {kernel: new}
  c: {kernel: old, sysctl: {vm.dirty_ratio: 5}}
conditions:
  filesystem: [ext4, xfs]
  scheduler:
  - bfq
  - mq-deadline
workloads:
  - dd: {size: 96MiB}
`

func without(config, symbol string) string {
	if !strings.Contains(config, symbol+"=y\n") {
		panic(symbol)
	}
	return strings.Replace(config, symbol+"=y\n", "# "+symbol+" is not set\n", 1)
}

func TestCheckKernels(t *testing.T) {
	for _, tc := range []struct {
		name     string
		old, new string
		want     []string // place, and parts of the message
	}{
		{"fine", guestConfig, guestConfig, nil},
		{"filesystem", without(guestConfig, "CONFIG_XFS_FS"), guestConfig, []string{"16:22 kernel old (linux-old=1) lacks xfs: CONFIG_XFS_FS is not set"}},
		{"filesystem in both", without(guestConfig, "CONFIG_XFS_FS"), without(guestConfig, "CONFIG_XFS_FS"), []string{
			"16:22 kernel old (linux-old=1) lacks xfs: CONFIG_XFS_FS is not set", "16:22 kernel new (linux-new=2) lacks xfs: CONFIG_XFS_FS is not set",
		}},
		{"scheduler", guestConfig, without(guestConfig, "CONFIG_IOSCHED_BFQ"), []string{"18:5 kernel new (linux-new=2) lacks bfq: CONFIG_IOSCHED_BFQ is not set"}},
		{"bus", without(guestConfig, "CONFIG_SATA_AHCI"), without(guestConfig, "CONFIG_SCSI_VIRTIO"), []string{
			"7:35 kernel old (linux-old=1) lacks ahci: CONFIG_SATA_AHCI is not set", "9:10 kernel new (linux-new=2) lacks virtio-scsi: CONFIG_SCSI_VIRTIO is not set",
		}},
		{"guest", without(guestConfig, "CONFIG_OVERLAY_FS"), guestConfig, []string{"3:3 kernel old (linux-old=1) cannot carry a guest: guest: CONFIG_OVERLAY_FS is not set"}},
		{"module that did not come", guestConfig, strings.Replace(guestConfig, "CONFIG_XFS_FS=y", "CONFIG_XFS_FS=m", 1), []string{"16:22 kernel new (linux-new=2) lacks xfs: CONFIG_XFS_FS=m, and its module xfs was not given"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := load(t, asks).CheckKernels(map[string]kernels.Artifact{
				"old": kernelWith(t, "linux-old=1", tc.old), "new": kernelWith(t, "linux-new=2", tc.new),
				"spare": kernelWith(t, "linux-spare=3", ""), // no arm takes it
			})
			if tc.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var ps Problems
			if !errors.As(err, &ps) || fault.Of(err) != fault.Plan {
				t.Fatalf("error %v, want problems of the plan", err)
			}
			if len(ps) != len(tc.want) {
				t.Fatalf("%d problems, want %d:\n%v", len(ps), len(tc.want), err)
			}
			for i, want := range tc.want {
				if got, _, _ := strings.Cut(ps[i].Error(), "\n"); got != "test.yaml:"+strings.Replace(want, " ", ": ", 1) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}

func TestCheckKernelsUnknown(t *testing.T) {
	p := load(t, asks)
	if err := p.CheckKernels(map[string]kernels.Artifact{"old": {}, "new": {}}); err != nil {
		t.Errorf("a kernel without a known configuration: %v", err)
	}
	if err := p.CheckKernels(map[string]kernels.Artifact{"old": {}}); err == nil || fault.Of(err) != fault.Machinery {
		t.Errorf("a kernel that was not made: %v, want a fault of the machinery", err)
	}
	missing := kernels.Artifact{Config: filepath.Join(t.TempDir(), "none")}
	if err := p.CheckKernels(map[string]kernels.Artifact{"old": missing, "new": {}}); err == nil || fault.Of(err) != fault.Machinery {
		t.Errorf("a configuration that is gone: %v, want a fault of the machinery", err)
	}
}
