package uml

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"strconv"

	"time"

	"github.com/klauspost/compress/zstd"

	"spindle/internal/vhost"
	"spindle/pipeline/drive/timing"
)

// RequestLog is the file that a run leaves in its directory: one line for each
// request of the timed part, in the order in which they were done, compressed
// with zstd. Its columns are
//
//	arrived  ns of virtual time since the timed part began
//	wait     ns until the drive took the request up
//	service  ns from then until it was done
//	op       R, W, F for flush; with "!" behind it where the write was forced
//	lba      first sector, of 512 bytes, as the guest counts them
//	sectors
//	seek     sectors from the end of the request that arrived before
const RequestLog = "requests.tsv.zst"

const traceHeader = "# arrived_ns\twait_ns\tservice_ns\top\tlba\tsectors\tseek\n"

// trace writes the log, and a hash over everything that the drives were asked,
// set-up included.
type trace struct {
	file  *os.File
	z     *zstd.Encoder
	w     *bufio.Writer
	sum   hash.Hash
	hash  *bufio.Writer
	line  []byte
	count int64
	err   error
}

func newTrace(path string) (*trace, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	// One stream of blocks, so that the file's bytes do not depend on the number
	// of CPUs.
	z, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1))
	if err != nil {
		f.Close()
		return nil, err
	}
	t := &trace{file: f, z: z, w: bufio.NewWriterSize(z, 64<<10), sum: sha256.New()}
	t.hash = bufio.NewWriterSize(t.sum, 64<<10)
	_, err = t.w.WriteString(traceHeader)
	t.keep(err)
	return t, nil
}

func (t *trace) keep(err error) {
	if t.err == nil {
		t.err = err
	}
}

var opNames = [...]string{timing.Read: "R", timing.Write: "W", timing.Flush: "F", timing.Trim: "T"}

// timed notes a request that the model has done. The timed part began at began
// of the model's time.
func (t *trace) timed(w *waiter, c timing.Completion, began time.Duration) {
	b := t.line[:0]
	for _, v := range []time.Duration{w.arrived - began, c.Start - w.arrived, c.At - c.Start} {
		b = strconv.AppendInt(b, int64(v), 10)
		b = append(b, '\t')
	}
	b = append(b, opNames[w.Op]...)
	if w.FUA {
		b = append(b, '!')
	}
	for _, v := range []int64{w.LBA, w.Sectors, w.seek} {
		b = append(b, '\t')
		b = strconv.AppendInt(b, v, 10)
	}
	b = append(b, '\n')
	_, err := t.w.Write(b)
	t.keep(err)
	t.hash.Write(b)
	t.line = b
	t.count++
}

// setup notes a request that takes no time: in the hash alone.
func (t *trace) setup(now time.Duration, op timing.Op, r *vhost.Request) {
	t.line = fmt.Appendf(t.line[:0], "%d\t%s\t%d\t%d\n", int64(now), opNames[op], r.Offset, r.Length)
	t.hash.Write(t.line)
	t.count++
}

// close ends the log and gives the hash, in hex.
func (t *trace) close() (sum string, err error) {
	t.hash.Flush()
	t.keep(t.w.Flush())
	t.keep(t.z.Close())
	t.keep(t.file.Close())
	if t.err != nil {
		return "", fmt.Errorf("write %s: %w", RequestLog, t.err)
	}
	return hex.EncodeToString(t.sum.Sum(nil)), nil
}
