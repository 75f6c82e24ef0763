package iostat

import "spindle/workloads/sample"

// Columns are those of iostat -x -m for one drive over one interval, by the keys
// of sysstat's own JSON (12.6) and, for the classic ones that this lacks, by their
// old names. Rates are per second, times in ms, sizes in KiB unless said.
type Columns struct {
	Seconds float64 `json:"seconds"` // of the interval

	Reads       float64 `json:"r/s"`
	Writes      float64 `json:"w/s"`
	Discards    float64 `json:"d/s"`
	Flushes     float64 `json:"f/s"`
	ReadMB      float64 `json:"rMB/s"` // MiB, as sysstat calls MB
	WriteMB     float64 `json:"wMB/s"`
	DiscardMB   float64 `json:"dMB/s"`
	ReadMerge   float64 `json:"rrqm/s"`
	WriteMerge  float64 `json:"wrqm/s"`
	DiscMerge   float64 `json:"drqm/s"`
	ReadMerged  float64 `json:"rrqm"` // percent of the requests
	WriteMerged float64 `json:"wrqm"`
	DiscMerged  float64 `json:"drqm"`
	ReadAwait   float64 `json:"r_await"`
	WriteAwait  float64 `json:"w_await"`
	DiscAwait   float64 `json:"d_await"`
	FlushAwait  float64 `json:"f_await"`
	ReadSize    float64 `json:"rareq-sz"`
	WriteSize   float64 `json:"wareq-sz"`
	DiscSize    float64 `json:"dareq-sz"`
	Queue       float64 `json:"aqu-sz"` // avgqu-sz of old
	Util        float64 `json:"util"`   // percent

	Await   float64 `json:"await"`    // of reads and writes together
	Sectors float64 `json:"avgrq-sz"` // 512 B sectors a read or write
	Service float64 `json:"svctm"`    // busy ms a read or write
}

// Between gives the columns of the time between two readings of one drive.
func Between(a, b sample.Disk) Columns {
	t := float64(b.Monotonic-a.Monotonic) / 1e9
	if t <= 0 {
		return Columns{}
	}
	r, w, d, f := count(a.Reads, b.Reads), count(a.Writes, b.Writes), count(a.Discards, b.Discards), count(a.Flushes, b.Flushes)
	rs, ws, ds := count(a.ReadSectors, b.ReadSectors), count(a.WriteSectors, b.WriteSectors), count(a.DiscardSectors, b.DiscardSectors)
	rm, wm, dm := count(a.ReadMerges, b.ReadMerges), count(a.WriteMerges, b.WriteMerges), count(a.DiscardMerges, b.DiscardMerges)
	rt, wt, dt, ft := ms(a.ReadMS, b.ReadMS), ms(a.WriteMS, b.WriteMS), ms(a.DiscardMS, b.DiscardMS), ms(a.FlushMS, b.FlushMS)
	busy, queue := ms(a.BusyMS, b.BusyMS), ms(a.QueueMS, b.QueueMS)
	return Columns{
		Seconds: t,
		Reads:   r / t, Writes: w / t, Discards: d / t, Flushes: f / t,
		ReadMB: rs / 2048 / t, WriteMB: ws / 2048 / t, DiscardMB: ds / 2048 / t,
		ReadMerge: rm / t, WriteMerge: wm / t, DiscMerge: dm / t,
		ReadMerged: 100 * per(rm, rm+r), WriteMerged: 100 * per(wm, wm+w), DiscMerged: 100 * per(dm, dm+d),
		ReadAwait: per(rt, r), WriteAwait: per(wt, w), DiscAwait: per(dt, d), FlushAwait: per(ft, f),
		ReadSize: per(rs, r) / 2, WriteSize: per(ws, w) / 2, DiscSize: per(ds, d) / 2,
		Queue: queue / 1000 / t, Util: busy / 10 / t,
		Await: per(rt+wt, r+w), Sectors: per(rs+ws, r+w), Service: per(busy, r+w),
	}
}

// count is the difference of counters that the kernel keeps in a long.
func count(a, b uint64) float64 {
	if b < a {
		return 0 // the drive came anew
	}
	return float64(b - a)
}

// ms is the difference of counters that the kernel shows in 32 bits.
func ms(a, b uint64) float64 { return float64(uint32(b) - uint32(a)) }

func per(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
