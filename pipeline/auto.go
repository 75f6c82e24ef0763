package pipeline

import (
	"strconv"

	"spindle/internal/unit"
	"spindle/reports"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// Budget is what a plan with `repeat: auto` may spend at most.
type Budget struct {
	Blocks int           `yaml:"blocks"` // default 30
	Time   unit.Duration `yaml:"time"`   // of all samples together; 0 for no limit
	See    float64       `yaml:"see"`    // change that "no change" must be able to see, as a share; default 0.05
}

const (
	defaultBudget = 30
	minBudget     = 3 // fewer blocks never decide
	defaultSee    = 0.05
)

// takeAuto makes `repeat: auto` the number that the decoder expects, and says
// whether it was there.
func takeAuto(root *node) bool {
	n := root.get("repeat")
	if n == nil || n.kind != scalar || n.text != "auto" {
		return false
	}
	n.text, n.plain = strconv.Itoa(defaultBudget), true
	return true
}

// budget checks what the plan says of it, and makes it the number of blocks.
func (c *checker) budget() {
	p := c.plan
	n := c.root.get("budget")
	if !p.Auto {
		if n != nil && !n.wrong {
			c.entry(n, "budget goes with repeat: auto, which this plan does not have")
		}
		return
	}
	if n, ok := c.ok("budget", "blocks"); ok && p.Budget.Blocks != 0 && (p.Budget.Blocks < minBudget || p.Budget.Blocks > maxRepeat) {
		c.value(n, "blocks %d: want from %d to %d", p.Budget.Blocks, minBudget, maxRepeat)
	}
	if n, ok := c.ok("budget", "see"); ok && !(0 < p.Budget.See && p.Budget.See <= stat.WorthSeeing) {
		c.value(n, "see %v: want a share of at most %v, such as 0.03 for 3 %%", p.Budget.See, stat.WorthSeeing)
	}
	if p.Budget.See == 0 {
		p.Budget.See = defaultSee
	}
	if p.Budget.Blocks == 0 {
		p.Budget.Blocks = defaultBudget
	}
	p.Repeat = p.Budget.Blocks
}

// autoRecord is the budget as the manifest has it; nil for a fixed number of
// blocks.
func (p *Plan) autoRecord() *record.Auto {
	if !p.Auto {
		return nil
	}
	return &record.Auto{Most: p.Budget.Blocks, Seconds: p.Budget.Time.Std().Seconds(), See: p.Budget.See}
}

// decided says whether a run that repeats by itself ends after a block. It
// looks only at the blocks that its rule names: every further look would have
// its own chance to be wrong.
func decided(env Env, r *record.Run, blocks int) (bool, error) {
	auto := r.Manifest().Auto
	if auto == nil {
		return false, nil
	}
	looks := false
	for _, n := range (stat.Auto{Most: auto.Most}).Looks() {
		looks = looks || n == blocks
	}
	if !looks {
		return false, nil
	}
	report, err := reports.Open(r.Dir())
	if err != nil {
		return false, err
	}
	step := report.Step(blocks)
	if step.Next > 0 {
		env.Log.Printf("%s; going on to block %d", step.Why, step.Next)
		return false, nil
	}
	env.Log.Printf("%s", step.Why)
	return true, r.Decide(record.Decision{Blocks: blocks, Why: step.Why})
}
