package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// say prints a line that begins with "spindle: " on the guest's console, where
// the host reads it.
//
// It goes through the kernel's log if it can: a line written to the terminal
// may be torn by a message of the kernel in its middle, one in the log never
// is. Level 1 is shown also on a kernel that boots quietly.
func say(format string, args ...any) {
	line := "spindle: " + strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " | ")
	if kmsg, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0); err == nil {
		_, err = kmsg.WriteString("<1>" + clip(line) + "\n")
		kmsg.Close()
		if err == nil {
			return
		}
	}
	fmt.Fprintln(console(), line)
}

// clip keeps a line within what the kernel takes at once (LOG_LINE_MAX is 976).
func clip(line string) string {
	const most = 900
	if len(line) > most {
		line = line[:most] + "..."
	}
	return line
}

// console gives the terminal that the guest's log goes to, for what has no place
// in the log.
var console = sync.OnceValue(func() *os.File {
	for _, name := range []string{"/dev/console", "/dev/ttyS0"} {
		if f, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {
			return f
		}
	}
	return os.Stderr
})
