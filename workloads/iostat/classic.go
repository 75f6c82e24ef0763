package iostat

import (
	"fmt"
	"strconv"
	"strings"
)

// ClassicHeader is the line above the rows of iostat -xm of sysstat 10.2.
const ClassicHeader = "Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util"

// Classic gives a row as sysstat 10.2 printed it.
func (c Columns) Classic(device string) string {
	return fmt.Sprintf("%-13s %8.2f %8.2f %7.2f %7.2f %8.2f %8.2f %8.2f %8.2f %7.2f %7.2f %7.2f %6.2f %6.2f",
		device, c.ReadMerge, c.WriteMerge, c.Reads, c.Writes, c.ReadMB, c.WriteMB,
		c.Sectors, c.Queue, c.Await, c.ReadAwait, c.WriteAwait, c.Service, min(100, c.Util))
}

// Row is a line of somebody's iostat.
type Row struct {
	Device string
	Columns
}

// ParseClassic reads the rows of classic iostat -xm in a text, such as a mail.
// Lines that a mailer has wrapped are put together again: a row has a device and
// thirteen numbers. Other lines are left out.
func ParseClassic(text string) []Row {
	var rows []Row
	var pending []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		numbers := 0
		for _, w := range f {
			if _, err := strconv.ParseFloat(w, 64); err == nil {
				numbers++
			}
		}
		switch {
		case len(pending) > 0 && len(f) > 0 && numbers == len(f):
			pending = append(pending, f...)
		case numbers > 0 && numbers == len(f)-1 && !isNumber(f[0]):
			pending = f
		default:
			pending = nil
		}
		if len(pending) < 14 {
			continue
		}
		if row, ok := classicRow(pending); ok {
			rows = append(rows, row)
		}
		pending = nil
	}
	return rows
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func classicRow(f []string) (Row, bool) {
	if len(f) != 14 {
		return Row{}, false
	}
	r := Row{Device: f[0]}
	for i, to := range []*float64{
		&r.ReadMerge, &r.WriteMerge, &r.Reads, &r.Writes, &r.ReadMB, &r.WriteMB,
		&r.Sectors, &r.Queue, &r.Await, &r.ReadAwait, &r.WriteAwait, &r.Service, &r.Util,
	} {
		v, err := strconv.ParseFloat(f[i+1], 64)
		if err != nil {
			return Row{}, false
		}
		*to = v
	}
	return r, true
}
