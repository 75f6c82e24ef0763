package nbd

import "fmt"

// MaxName is the longest export name, in bytes, that the protocol allows.
const MaxName = 4096

// Options say what an export offers. The zero value is a writable export named
// "" that offers nothing beyond reading and writing.
type Options struct {
	Name      string    // also answers to ""
	BlockSize BlockSize // zero means 512 bytes, 4 KiB and 32 MiB

	ReadOnly    bool
	Rotational  bool // seeks cost time
	Flush       bool // the backend takes Flush
	FUA         bool // the backend honours FUA
	Trim        bool // the backend takes Trim
	WriteZeroes bool // the backend takes WriteZeroes
	MultiConn   bool // a Flush on one connection covers all connections

	// InFlight is how many requests may be with the backend at a time; reading
	// stops there. Zero means 128. QEMU's client never has more than 16.
	InFlight int
}

// BlockSize constrains requests, in bytes. All are powers of two but Max, which
// is a multiple of Min. Trim and WriteZeroes may be longer than Max.
type BlockSize struct{ Min, Preferred, Max uint32 }

const (
	defaultInFlight = 128
	// flightBytes bounds the payloads in memory, beyond one of maximum size.
	flightBytes = 64 << 20
)

// resolve fills in defaults and refuses what the protocol does not allow.
func (o Options) resolve(size int64) (Options, error) {
	b := &o.BlockSize
	if b.Min == 0 {
		b.Min = 512
	}
	if b.Preferred == 0 {
		b.Preferred = max(b.Min, 4096)
	}
	if b.Max == 0 {
		b.Max = max(32<<20, b.Preferred)
	}
	if o.InFlight == 0 {
		o.InFlight = defaultInFlight
	}
	switch {
	case len(o.Name) > MaxName:
		return o, fmt.Errorf("export name: %d bytes, at most %d are allowed", len(o.Name), MaxName)
	case b.Min&(b.Min-1) != 0 || b.Min > 64<<10:
		return o, fmt.Errorf("minimum block size %d: not a power of two up to 65536", b.Min)
	case b.Preferred&(b.Preferred-1) != 0 || b.Preferred < 512 || b.Preferred < b.Min:
		return o, fmt.Errorf("preferred block size %d: not a power of two from %d", b.Preferred, max(512, b.Min))
	case b.Max < b.Preferred || b.Max%b.Min != 0 || b.Max > 1<<30:
		return o, fmt.Errorf("maximum block size %d: not a multiple of %d between %d and 1 GiB", b.Max, b.Min, b.Preferred)
	case o.InFlight < 0:
		return o, fmt.Errorf("requests in flight %d: negative", o.InFlight)
	case size < 0 || size%int64(b.Min) != 0:
		return o, fmt.Errorf("device size %d: not a multiple of the minimum block size %d", size, b.Min)
	}
	return o, nil
}

// flags gives the transmission flags.
func (o Options) flags() uint16 {
	f := uint16(sendHasFlags)
	for _, x := range []struct {
		on  bool
		bit uint16
	}{
		{o.ReadOnly, sendReadOnly},
		{o.Flush, sendFlush},
		{o.FUA, sendFUA},
		{o.Rotational, sendRotational},
		{o.Trim && !o.ReadOnly, sendTrim},
		{o.WriteZeroes && !o.ReadOnly, sendWriteZeroes},
		{o.MultiConn, sendCanMultiConn},
	} {
		if x.on {
			f |= x.bit
		}
	}
	return f
}
