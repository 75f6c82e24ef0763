package workloads

import (
	"strings"
	"testing"

	"spindle/internal/unit"
)

func TestJobInvalid(t *testing.T) {
	dd := Spec{DD: &DD{Size: unit.MiB}}
	good := Job{Drive: "spindle-d0", Dir: "/out", Filesystem: "ext4", Workload: dd}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change func(*Job)
		want   string
	}{
		{func(j *Job) { j.Drive = "" }, "drive: no serial given"},
		{func(j *Job) { j.Dir = "" }, "dir: no output directory given"},
		{func(j *Job) { j.Workload = Spec{} }, "workload: names no program"},
		{func(j *Job) { j.Filesystem = "ntfs" }, `filesystem "ntfs": there are ext2, ext3, ext4, xfs, btrfs, f2fs, none`},
		{func(j *Job) { j.Filesystem, j.Workload = "none", Spec{FsyncTester: &FsyncTester{}} }, "workload fsync-tester needs a file system, and this one has filesystem: none"},
		{func(j *Job) { j.Workload = Spec{Fio: &Fio{Options: map[string]string{"rw": "read"}, On: "device"}} }, "workload fio-read runs on the drive itself, which needs filesystem: none"},
		{func(j *Job) { j.Filesystem, j.MountOptions = "none", []string{"noatime"} }, "filesystem: none takes no options for mkfs and mount"},
		{func(j *Job) { j.Queue = map[string]string{"scheduler": "bfq"} }, "queue: scheduler has a place of its own: conditions, scheduler"},
		{func(j *Job) { j.Queue = map[string]string{"../device/delete": "1"} }, `queue: "../device/delete" is no name of a setting`},
		{func(j *Job) { j.Device = map[string]string{"": "1"} }, `device: "" is no name of a setting`},
		{func(j *Job) { j.Sysctl = map[string]string{"vm..dirty_ratio": "1"} }, `sysctl: "vm..dirty_ratio" is no name of a setting`},
	} {
		j := good
		tt.change(&j)
		if err := j.Validate(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v\nwant %s", err, tt.want)
		}
	}
}

func TestDecodeJob(t *testing.T) {
	const good = `{"drive": "spindle-d0", "filesystem": "xfs", "workload": {"dd": {"size": "1MiB"}}, "limit": "90s", "dir": "/out"}`
	j, err := DecodeJob([]byte(good))
	if err != nil || j.Limit.Std().Seconds() != 90 || j.Workload.DD.Size != unit.MiB {
		t.Errorf("DecodeJob = %+v, %v", j, err)
	}
	for _, bad := range []string{
		``, `{}`, `[]`,
		strings.Replace(good, `"dir"`, `"directory"`, 1),
		strings.Replace(good, `"1MiB"`, `1048576`, 1),
		strings.Replace(good, `"90s"`, `"90"`, 1),
	} {
		if _, err := DecodeJob([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "read job: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzDecodeJob(f *testing.F) {
	f.Add(`{"drive": "spindle-d0", "filesystem": "xfs", "workload": {"dd": {"size": "1MiB"}}, "limit": "90s", "dir": "/out"}`)
	f.Add(`{"drive": "d", "filesystem": "none", "workload": {"fio": {"options": {"rw": "randread", "bs": "4k"}, "primary": "read p99"}}, "queue": {"iosched/slice_idle": "0"}, "dir": "/out"}`)
	f.Add(`{"drive": "d", "filesystem": "ext3", "workload": {"fsync_tester": {"pause": "0s"}}, "dir": "/out"}`)
	f.Fuzz(func(t *testing.T, text string) {
		j, err := DecodeJob([]byte(text))
		if err != nil {
			return
		}
		// What was accepted can be carried out, as far as that can be told here.
		j.Workload.Title()
		if len(j.Workload.Metrics()) == 0 || j.Workload.Slug() == "" {
			t.Errorf("%s: no metrics or no name", text)
		}
		if f, ok := findFilesystem(j.Filesystem); ok {
			f.mkfs("/dev/sda", j.MkfsOptions)
		}
	})
}
