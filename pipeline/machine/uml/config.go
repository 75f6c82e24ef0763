package uml

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/unit"
	"spindle/pipeline/drive"
)

// Cost is what the guest's computing takes in virtual time.
type Cost struct {
	Syscall time.Duration // of each system call
	Fault   time.Duration // of each page fault of a program
	Byte    int64         // picoseconds, of each byte copied between kernel and programs
}

// DefaultCost is what a guest under KVM took for the same programs (figures.md):
// 2 µs a page fault, 6.7 GB/s for copying, and half a microsecond a system call
// that does a little.
var DefaultCost = Cost{Syscall: 500 * time.Nanosecond, Fault: 2 * time.Microsecond, Byte: 150}

func (c Cost) String() string {
	return fmt.Sprintf("%d ns a system call, %d ns a page fault, %d ps a byte copied", c.Syscall.Nanoseconds(), c.Fault.Nanoseconds(), c.Byte)
}

// Config says what to run. Kernel, Initrd, Memory, Dir and Temp are required.
type Config struct {
	Kernel string // the program that `make ARCH=um` gives
	Initrd string
	Root   string   // image for the read-only drive with serial RootSerial; "" for none
	Append []string // added to the kernel command line

	Memory unit.Size // whole MiB
	Seed   uint64    // of all random numbers in the guest
	Cost   Cost
	// Clock is the time of day when the guest boots. It is the plan's, not the
	// host's: file systems write it down.
	Clock  time.Time
	Drives []Disk
	// Phase is how long the guest waits before the timed part, set up: what it
	// does every few seconds is at another place then.
	Phase time.Duration

	Dir  string // an existing directory that gets console.log, uml.log, requests.tsv.zst and the job's files
	Temp string // an existing private directory, for sockets

	// Limit is how far virtual time may go; 0 is a day.
	Limit time.Duration
	// Stall is how long the guest's kernel may compute, of the host's time, while
	// its clock stands still; 0 is DefaultStall.
	Stall time.Duration
	// MessagesOnly does without the memory that calendar and guest share.
	MessagesOnly bool
}

// DefaultStall is far longer than any step that a kernel takes at once.
const DefaultStall = 2 * time.Minute

// Disk is a test drive.
type Disk struct {
	Spec   drive.Spec
	Seed   uint64 // of the drive's model
	Serial string
	// Turn is how long the drive was idle when the timed part begins: its
	// platters stand elsewhere.
	Turn time.Duration
	// Place is where on the drive the guest's disk begins, as that of a partition
	// might: other tracks, other angles, and a little of another media rate.
	Place   unit.Size
	Backing string // see drive.Options
}

// The serials that the guest finds our own drives by.
const (
	RootSerial    = "spindle-root"
	MailboxSerial = "spindle-mailbox"
)

const leastMemory = 128 * unit.MiB

func (c *Config) fill() {
	if c.Limit == 0 {
		c.Limit = 24 * time.Hour
	}
	if c.Stall == 0 {
		c.Stall = DefaultStall
	}
}

func (c *Config) validate() error {
	switch {
	case c.Kernel == "" || c.Initrd == "" || c.Dir == "" || c.Temp == "":
		return errors.New("kernel, initrd, directory and temporary directory are needed")
	case c.Memory < leastMemory || c.Memory%unit.MiB != 0:
		return fault.Planf("memory %v: want whole MiB, at least %v", c.Memory, leastMemory)
	case c.Limit < 0 || c.Stall < 0 || c.Phase < 0:
		return errors.New("a limit is negative")
	}
	if _, err := os.Stat(c.Kernel); errors.Is(err, fs.ErrNotExist) {
		return fault.Planf("kernel %s: there is none", c.Kernel)
	} else if err != nil {
		return err
	}
	for _, a := range c.Append {
		if strings.ContainsAny(a, "\n\x00") {
			return fault.Planf("kernel argument %q: has a line break", a)
		}
	}
	return nil
}

// args is the guest's command line. Paths in it are relative, so that it is the
// same wherever the run is.
func (c *Config) args(l *links) []string {
	a := []string{
		fmt.Sprintf("mem=%dM", int64(c.Memory/unit.MiB)),
		"initrd=" + c.Initrd,
		"time-travel=ext:" + timeSocket,
		fmt.Sprintf("tt-seed=%d", c.Seed),
		fmt.Sprintf("tt-cost=%d,%d,%d", c.Cost.Syscall.Nanoseconds(), c.Cost.Fault.Nanoseconds(), c.Cost.Byte),
		"con=null", "con0=null,fd:1", "ssl=null", "stderr=1",
		"keep_bootcon", // or the kernel's words end when con0 comes up, a panic's too
		"panic=1", "noreboot", "random.trust_cpu=1", "random.trust_bootloader=1",
	}
	for _, k := range l.list {
		a = append(a, fmt.Sprintf("virtio_uml.device=%s:%d", k.name, k.kind))
	}
	return append(a, c.Append...)
}
