package reports

import (
	"fmt"

	"spindle/reports/internal/text"
)

// virtual says whether the samples were made in virtual time, where the host
// cannot disturb a figure: what varies from block to block is seeds.
func (a *analysis) virtual() bool { return a.manifest.Machine.Accel == "virtual" }

// virtualItem says what a guest in virtual time was, and what such a run says
// nothing about.
func (p *page) virtualItem() string {
	m := p.manifest.Machine
	s := fmt.Sprintf("machine: virtual time. The kernel ran as a program (User Mode Linux), its drive was modelled in the same time: 1 CPU, %s memory", size(m.MemoryBytes))
	if m.AccelWhy != "" {
		s += "; computing cost " + m.AccelWhy
	}
	s += ". Not modelled: other costs of computing, more CPUs, controllers (AHCI, NVMe, RAID), interrupts as a real machine has them. " +
		"The same kernel, image and seed give the same figures on every host; that is no measure of how much they would move " +
		"with a change that should not matter, which the blocks' seeds and a comparison of two equal builds show"
	if p.manifest.Scale != "" {
		s += ". Plan scaled to " + p.manifest.Scale
	}
	var virtual, wall float64
	spins, twice := 0, 0
	for _, x := range p.samples {
		if x.Virtual != nil {
			virtual, wall, spins = virtual+x.Virtual.Seconds, wall+x.Virtual.WallSeconds, spins+x.Virtual.Spins
			if x.Virtual.SameAgain {
				twice++
			}
		}
	}
	if virtual > 0 {
		s += fmt.Sprintf(". %.0f s of virtual time took %.0f s", virtual, wall)
	}
	if twice > 0 {
		s += fmt.Sprintf(". %s made twice: the same metrics, and the same requests at the same times", plural(twice, "sample was", "samples were"))
	}
	if spins > 0 {
		s += fmt.Sprintf(". A program that computed without system calls was cut short %d times: those samples do not come out the same again", spins)
	}
	return text.Clean(s)
}
