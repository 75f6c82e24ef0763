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
		must(os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0))
	case "asleep":
		// Nothing but this program, and it waits for what does not come.
		unix.Pause()
	case "late":
		time.Sleep(100 * time.Hour)
	case "killed":
		must(unix.Kill(1, unix.SIGSTOP)) // process 1 cannot be stopped: what comes is computed for ever
		for i := 0; ; i++ {
		}
	case "exit":
		os.Exit(3)
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

// job says the words of a job, with some requests to the drive d0 between.
func job(requests int) {
	mail, err := os.OpenFile(find("spindle-mailbox"), os.O_RDWR|unix.O_DIRECT, 0)
	must(err)
	buf, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	must(err)
	word := func(w string) {
		clear(buf[:4096])
		copy(buf, w)
		_, err := mail.WriteAt(buf[:4096], 0)
		must(err)
	}
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
	// An empty archive: two blocks of zeros.
	clear(buf[:4096])
	_, err = mail.WriteAt(buf[:4096], 4096)
	must(err)
	word("result 1024")
}
