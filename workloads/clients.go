package workloads

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// Clients gives how many processes ask the drive at the same time, and a text
// that is the same for workloads that differ only in that (and in their names);
// 0 and "" for programs that have no such number. fio's is the sum over its
// jobs.
func (s Spec) Clients() (n int, but string) {
	s.Name = ""
	switch {
	case s.Create != nil:
		w := *s.Create
		n, w.Processes = w.options().Processes, 0
		s.Create = &w
	case s.Ioperf != nil:
		w := *s.Ioperf
		n, w.Readers = orDefault(w.Readers, 16), 0
		s.Ioperf = &w
	case s.Fio != nil:
		w := *s.Fio
		sections, err := w.sections()
		if err != nil {
			return 0, ""
		}
		for _, x := range sections {
			jobs, err := strconv.Atoi(strings.TrimSpace(x.options["numjobs"]))
			if err != nil {
				jobs = 1
			}
			n += max(jobs, 1)
		}
		w.Job = numjobs.ReplaceAllString(w.Job, "")
		options := map[string]string{}
		for k, v := range w.Options {
			if k != "numjobs" {
				options[k] = v
			}
		}
		w.Options = options
		s.Fio = &w
	default:
		return 0, ""
	}
	text, err := json.Marshal(s)
	if err != nil {
		return 0, ""
	}
	return n, string(text)
}

// numjobs is the line of a job file that says how many clones a job has.
var numjobs = regexp.MustCompile(`(?m)^[ \t]*numjobs[ \t]*=.*\n?`)
