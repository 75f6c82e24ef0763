package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// idsNeeded is how many subordinate ids a Debian root file system takes: ids up
// to 65534 (nobody) are in use.
const idsNeeded = 65536

// Namespaces is what an ordinary user needs to install a root file system as
// root of a user namespace: subordinate ids of their own (subuid(5)), and a
// kernel that lets them.
type Namespaces struct {
	UIDs    int64 `json:"subuids"` // the user's largest range
	GIDs    int64 `json:"subgids"`
	Allowed bool  `json:"allowed"` // by sysctl
	Free    int64 `json:"free"`    // first id from which on nobody has any
}

func (n Namespaces) enough() bool { return n.UIDs >= idsNeeded && n.GIDs >= idsNeeded }

func readNamespaces(env Env) Namespaces {
	n := Namespaces{Free: 100000, Allowed: true} // where useradd begins, SUB_UID_MIN of login.defs(5)
	for path, most := range map[string]*int64{"/etc/subuid": &n.UIDs, "/etc/subgid": &n.GIDs} {
		text, err := os.ReadFile(env.path(path))
		if err != nil {
			continue // no file is no ids
		}
		for _, r := range parseSubids(string(text)) {
			if r.owner == env.User || r.owner == strconv.Itoa(env.UID) {
				*most = max(*most, r.count)
			}
			n.Free = max(n.Free, r.start+r.count)
		}
	}
	for _, name := range []string{"kernel/unprivileged_userns_clone", "user/max_user_namespaces"} {
		text, err := os.ReadFile(env.path("/proc/sys", name))
		if err == nil && strings.TrimSpace(string(text)) == "0" {
			n.Allowed = false
		}
	}
	return n
}

// subids is a line of subuid(5).
type subids struct {
	owner        string // name or number
	start, count int64
}

// parseSubids reads subuid(5) or subgid(5): owner, first id and count with colons
// between. Lines that are not so are passed over, as the shadow programs do.
func parseSubids(text string) []subids {
	var out []subids
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) != 3 || f[0] == "" {
			continue
		}
		start, err1 := strconv.ParseUint(f[1], 10, 32)
		count, err2 := strconv.ParseUint(f[2], 10, 32)
		if err1 != nil || err2 != nil {
			continue
		}
		out = append(out, subids{f[0], int64(start), int64(count)})
	}
	return out
}

// grant gives the command that gives a user ids that nobody has.
func (n Namespaces) grant(user string) string {
	first, last := n.Free, n.Free+idsNeeded-1
	return fmt.Sprintf("sudo usermod --add-subuids %d-%d --add-subgids %d-%d %s", first, last, first, last, user)
}
