// Init is what the tests' guests run: it does the one thing that the kernel
// command line asks for with mode=.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func say(format string, args ...any) {
	os.WriteFile("/dev/kmsg", fmt.Appendf(nil, "<1>spindle: "+format+"\n", args...), 0)
}

func must(err error) {
	if err != nil {
		say("fatal: %v", err)
		off()
	}
}

func off() {
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}

func main() {
	if os.Getpid() != 1 {
		eat()
	}
	for _, m := range []struct{ kind, dir string }{{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}} {
		must(unix.Mount(m.kind, m.dir, m.kind, 0, ""))
	}
	line, err := os.ReadFile("/proc/cmdline")
	must(err)
	mode, requests := "", 64
	for _, word := range strings.Fields(string(line)) {
		if m, ok := strings.CutPrefix(word, "mode="); ok {
			mode = m
		}
		fmt.Sscanf(word, "requests=%d", &requests)
	}
	say("init %s", mode)
	switch mode {
	case "off":
		off()
	case "fatal":
		must(fmt.Errorf("this is a test"))
	case "panic":
		// A kernel for User Mode Linux need not have sysrq.
		must(os.WriteFile("/proc/sys/kernel/hung_task_panic", []byte("1"), 0))
		word, _ := mailbox()
		word("ready")
		write(find("d0"))
	case "asleep":
		// Nothing but this program, and it waits for what does not come.
		unix.Pause()
	case "late":
		time.Sleep(100 * time.Hour)
	case "exit":
		os.Exit(3)
	case "hung":
		// A drive that does not answer, and one who waits for it.
		word, _ := mailbox()
		word("ready")
		write(find("d0"))
	case "oom":
		oom()
		job(0)
	case "loop":
		spin(100 * time.Hour)
	case "cost":
		cost()
		job(0)
	case "spin":
		began := time.Now()
		spin(time.Second)
		say("spun for %v", time.Since(began).Round(100*time.Millisecond))
		job(0)
	case "job":
		job(requests)
	}
	off()
}

// spin computes until a timer interrupts it, without a call of its own.
func spin(d time.Duration) {
	done := false
	p := &done
	go func() {
		time.Sleep(d)
		*p = true
	}()
	for n := 0; !load(p); n++ {
	}
}

//go:noinline
func load(p *bool) bool { return *p }

func find(serial string) string {
	for range 500 {
		dirs, _ := filepath.Glob("/sys/block/*")
		for _, d := range dirs {
			text, err := os.ReadFile(d + "/serial")
			if err != nil {
				text, _ = os.ReadFile(d + "/device/vpd_pg80")
				text = text[min(4, len(text)):]
			}
			if strings.TrimSpace(string(bytes.Trim(text, "\x00"))) == serial {
				return filepath.Join("/dev", filepath.Base(d))
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	must(fmt.Errorf("no drive %s", serial))
	return ""
}

// oom lets a child take memory until the kernel ends it.
func oom() {
	p, err := os.StartProcess("/proc/self/exe", []string{"eat"}, &os.ProcAttr{})
	must(err)
	state, err := p.Wait()
	must(err)
	say("the child ended: %v", state)
}

func eat() {
	for {
		b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			os.Exit(1)
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
	}
}

// cost says what computing takes, by the guest's clock.
func cost() {
	const calls, pages, size, reads = 10000, 2000, 1 << 20, 50
	took := func(n int64, f func()) float64 {
		began := time.Now()
		f()
		return float64(time.Since(began).Nanoseconds()) / float64(n)
	}
	call := took(calls, func() {
		for range calls {
			unix.Getppid()
		}
	})
	b, err := unix.Mmap(-1, 0, pages*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	must(err)
	fault := took(pages, func() {
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
	})
	buf := b[:size]
	fd, err := unix.MemfdCreate("cost", 0)
	must(err)
	_, err = unix.Pwrite(fd, buf, 0)
	must(err)
	each := took(reads*size, func() {
		for range reads {
			_, err = unix.Pread(fd, buf, 0)
		}
	})
	must(err)
	say("cost %.0f ns a call, %.0f ns a fault, %.0f ps a byte", call, fault, 1000*each)
}

// write writes through the page cache and waits for the drive: of who reads, or
// writes past the cache, the kernel does not complain.
func write(node string) {
	d, err := os.OpenFile(node, os.O_RDWR, 0)
	must(err)
	_, err = d.WriteAt(make([]byte, 4096), 1<<20)
	must(err)
	must(d.Sync())
}

// mailbox gives what says a word to the host, and what writes behind the words.
func mailbox() (word func(string), post func([]byte)) {
	mail, err := os.OpenFile(find("spindle-mailbox"), os.O_RDWR|unix.O_DIRECT, 0)
	must(err)
	buf, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	must(err)
	put := func(text string, at int64) {
		clear(buf[:4096])
		copy(buf, text)
		_, err := mail.WriteAt(buf[:4096], at)
		must(err)
	}
	return func(w string) { put(w, 0) }, func(b []byte) { put(string(b), 4096) }
}

// job says the words of a job, with some requests to the drive d0 between.
func job(requests int) {
	word, post := mailbox()
	buf, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	must(err)
	word("ready")
	if requests > 0 {
		d, err := os.OpenFile(find("d0"), os.O_RDWR|unix.O_DIRECT, 0)
		must(err)
		at := uint64(1)
		for i := range requests {
			at = at*6364136223846793005 + 1442695040888963407
			off := int64(at>>33) % (1 << 18) * 4096
			if i%2 == 0 {
				for k := range buf[:8192] {
					buf[k] = byte(i)
				}
				_, err = d.WriteAt(buf[:8192], off)
			} else {
				_, err = d.ReadAt(buf[:4096], off)
			}
			must(err)
		}
		must(d.Sync())
	}
	word("done")
	post(nil) // an empty archive: two blocks of zeros
	word("result 1024")
}
