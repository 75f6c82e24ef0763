package reports

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Notes of What broke are in order, though the tables above have numbered some
// of them by another one.
func TestBrokenInOrderOfNotes(t *testing.T) {
	r, err := Open(brokenRun(t).Dir())
	if err != nil {
		t.Fatal(err)
	}
	md, err := r.Render("md", false)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(md), "## What broke")
	section, _, _ = strings.Cut(section, "\n## ")
	var numbers []int
	for _, m := range regexp.MustCompile(`\[(\d+)\]`).FindAllStringSubmatch(section, -1) {
		n, _ := strconv.Atoi(m[1])
		numbers = append(numbers, n)
	}
	// Five samples broke: one hung, one mkfs failed, three panicked.
	if len(numbers) != 5 || !slices.IsSorted(numbers) {
		t.Errorf("notes %v of:\n%s", numbers, section)
	}
}
