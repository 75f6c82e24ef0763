package pipeline

// queueFile is one file of /sys/block/X/queue.
type queueFile struct {
	name  string
	since string // the first Linux that has it; "" is before 3.0
	gone  string // the first without it; "" is none yet
	fixed bool   // it can only be read
}

// queueFiles are all that mainline Linux has had since 3.0: block/blk-sysfs.c
// and Documentation/ABI/stable/sysfs-block, by the history of both. A patch may
// bring others.
var queueFiles = []queueFile{
	{name: "add_random"},
	{name: "atomic_write_boundary_bytes", since: "6.11", fixed: true},
	{name: "atomic_write_max_bytes", since: "6.11", fixed: true},
	{name: "atomic_write_unit_max_bytes", since: "6.11", fixed: true},
	{name: "atomic_write_unit_min_bytes", since: "6.11", fixed: true},
	{name: "chunk_sectors", since: "4.10", fixed: true},
	{name: "dax", since: "4.10", fixed: true},
	{name: "discard_granularity", fixed: true},
	{name: "discard_max_bytes"}, // settable since 4.3
	{name: "discard_max_hw_bytes", since: "4.3", fixed: true},
	{name: "discard_zeroes_data", fixed: true},
	{name: "dma_alignment", since: "6.0", fixed: true},
	{name: "fua", since: "4.20", fixed: true},
	{name: "hw_sector_size", fixed: true},
	{name: "io_poll", since: "4.4"},
	{name: "io_poll_delay", since: "4.10"},
	{name: "io_timeout", since: "5.0"},
	{name: "iostats"},
	{name: "iostats_passthrough", since: "6.13"},
	{name: "logical_block_size", fixed: true},
	{name: "max_active_zones", since: "5.9", fixed: true},
	{name: "max_discard_segments", since: "4.12", fixed: true},
	{name: "max_hw_sectors_kb", fixed: true},
	{name: "max_integrity_segments", fixed: true},
	{name: "max_open_zones", since: "5.9", fixed: true},
	{name: "max_sectors_kb"},
	{name: "max_segment_size", fixed: true},
	{name: "max_segments", fixed: true},
	{name: "max_write_streams", since: "6.16", fixed: true},
	{name: "minimum_io_size", fixed: true},
	{name: "nomerges"},
	{name: "nr_requests"},
	{name: "nr_zones", since: "4.20", fixed: true},
	{name: "optimal_io_size", fixed: true},
	{name: "physical_block_size", fixed: true},
	{name: "read_ahead_kb"},
	{name: "rotational"},
	{name: "rq_affinity"},
	{name: "stable_writes", since: "5.10"},
	{name: "throttle_sample_time", since: "4.12", gone: "6.10"},
	{name: "virt_boundary_mask", since: "5.12", fixed: true},
	{name: "wbt_lat_usec", since: "4.10"},
	{name: "write_cache", since: "4.7"},
	{name: "write_same_max_bytes", since: "3.7", fixed: true},
	{name: "write_stream_granularity", since: "6.16", fixed: true},
	{name: "write_zeroes_max_bytes", since: "4.10", fixed: true},
	{name: "write_zeroes_unmap_max_bytes", since: "6.17"},
	{name: "write_zeroes_unmap_max_hw_bytes", since: "6.17", fixed: true},
	{name: "zone_append_max_bytes", since: "5.8"}, // settable since 6.14
	{name: "zone_write_granularity", since: "5.12", fixed: true},
	{name: "zoned", since: "4.10", fixed: true},
}
