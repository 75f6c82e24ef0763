package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"spindle/kernels"
)

// The names are those of block/blk-sysfs.c in these versions, as they stand below
// /sys/block/X/queue.
func TestQueueFilesOfDebian(t *testing.T) {
	seen := map[string]string{
		"6.1.0-41-amd64": "add_random chunk_sectors dax discard_granularity discard_max_bytes discard_max_hw_bytes discard_zeroes_data " +
			"dma_alignment fua hw_sector_size io_poll io_poll_delay io_timeout iostats logical_block_size max_discard_segments " +
			"max_hw_sectors_kb max_integrity_segments max_sectors_kb max_segment_size max_segments minimum_io_size nomerges " +
			"nr_requests nr_zones optimal_io_size physical_block_size read_ahead_kb rotational rq_affinity stable_writes " +
			"virt_boundary_mask wbt_lat_usec write_cache write_same_max_bytes write_zeroes_max_bytes zone_append_max_bytes zone_write_granularity zoned",
		"6.12.57+deb13-amd64": "atomic_write_unit_min_bytes atomic_write_max_bytes wbt_lat_usec io_timeout stable_writes",
	}
	for version, names := range seen {
		for _, name := range strings.Fields(names) {
			i := slices.IndexFunc(queueFiles, func(f queueFile) bool { return f.name == name })
			if i < 0 {
				t.Errorf("%s is not in the table", name)
				continue
			}
			if lacks := lacksQueueFiles(map[string]string{name: "1"}, version); len(lacks) > 0 {
				t.Errorf("%s: %v", version, lacks)
			}
		}
	}
	if !slices.IsSortedFunc(queueFiles, func(a, b queueFile) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the table is not sorted")
	}
}

func TestCheckQueueFiles(t *testing.T) {
	p := load(t, strings.Replace(asks, "{kernel: old}", "{kernel: old, queue: {iostats_passthrough: 1, throttle_sample_time: 5}}", 1))
	err := p.CheckKernels(map[string]kernels.Artifact{
		"old": {Version: "6.12.57+deb13-amd64", Source: "linux-old=1"}, "new": {Version: "6.12.57+deb13-amd64"},
	})
	var ps Problems
	if !errors.As(err, &ps) || len(ps) != 2 {
		t.Fatal(err)
	}
	for i, want := range []string{"queue iostats_passthrough came with Linux 6.13", "queue throttle_sample_time left Linux in 6.10"} {
		if !strings.Contains(ps[i].Message, want) || ps[i].Line != 12 {
			t.Errorf("%v, want %s", ps[i], want)
		}
	}
}

func TestWrongSysctl(t *testing.T) {
	for name, want := range map[string]string{
		"vm.dirty_ratio": "", "vm/dirty_ratio": "", "fs.xfs.xfssyncd_centisecs": "", "kernel.sched_latency_ns": "", "vm.new_in_a_patch": "",
		"net.ipv4.tcp_rmem": "", "sunrpc.tcp_slot_table_entries": "", "vm.dirty_background_bytes": "",
		"dirty_ratio":             "did you mean vm.dirty_ratio?",
		"mm.dirty_ratio":          "did you mean vm.dirty_ratio?",
		"vm.dirty_rato":           "did you mean vm.dirty_ratio?",
		"vn.dirty_background_rat": "did you mean vm.dirty_background_ratio?",
		"vmm.something":           "their names begin with vm., fs., kernel., dev., net. and the like",
		"something":               "want a name such as vm.dirty_ratio",
	} {
		if got := wrongSysctl(name); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestWrongQueueFile(t *testing.T) {
	for _, tc := range []struct {
		name   string
		debian bool
		want   string
	}{
		{"wbt_lat_usec", true, ""},
		{"iosched/low_latency", true, ""},
		{"wbt_lat_us", true, "did you mean wbt_lat_usec?"},
		{"wbt_lat_us", false, "did you mean wbt_lat_usec?"},
		{"nr_request", false, "did you mean nr_requests?"},
		{"stallometer", true, "unknown queue file"},
		{"stallometer", false, ""}, // a patch may bring it
		{"logical_block_size", true, "cannot be set"},
	} {
		if got := wrongQueueFile(tc.name, tc.debian); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
