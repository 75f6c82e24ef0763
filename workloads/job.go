package workloads

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"spindle/internal/unit"
	"spindle/workloads/mdraid"
)

// Job is one cell's work in a guest. The host sends it as JSON.
type Job struct {
	Drive   string       `json:"drive"`             // serial of the test drive
	MD      *mdraid.Spec `json:"md,omitempty"`      // the test drive is this array instead
	Modules []string     `json:"modules,omitempty"` // for its bus, file system and scheduler

	Filesystem   string   `json:"filesystem"` // one of Filesystems; "none" leaves the drive bare
	MkfsOptions  []string `json:"mkfs_options,omitempty"`
	MountOptions []string `json:"mount_options,omitempty"` // without -o
	// Made says how the file system that is on the drive already was made; ""
	// has it made.
	Made string `json:"made,omitempty"`
	// Unmount leaves the drive so that it can be used by another guest.
	Unmount bool `json:"unmount,omitempty"`

	Scheduler string            `json:"scheduler,omitempty"` // "" leaves the kernel's choice
	Queue     map[string]string `json:"queue,omitempty"`     // below /sys/block/X/queue: "wbt_lat_usec", "iosched/slice_idle"
	Device    map[string]string `json:"device,omitempty"`    // below /sys/block/X/device: "queue_depth"
	Sysctl    map[string]string `json:"sysctl,omitempty"`    // "vm.dirty_ratio"
	Set       Settings          `json:"set,omitzero"`        // further ones of the arm

	// Packages are those of the image with their versions, as far as the host
	// knows them. It need not send those that the job does not use.
	Packages map[string]string `json:"packages,omitempty"`

	Workload    Spec          `json:"workload"`
	Seed        uint64        `json:"seed,omitempty"`         // of what the workload draws; the same for all arms of a block
	SampleEvery unit.Duration `json:"sample_every,omitempty"` // 0 is a second
	Limit       unit.Duration `json:"limit,omitempty"`        // of the workload, and of each step before it; 0 is none
	Dir         string        `json:"dir"`                    // in the guest, for everything that is kept
}

// DecodeJob reads a job and validates it. Fields that it does not know are an
// error: the host that wrote them meant something by them.
func DecodeJob(data []byte) (Job, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	var j Job
	if err := d.Decode(&j); err != nil {
		return Job{}, fmt.Errorf("read job: %w", err)
	}
	if err := j.Validate(); err != nil {
		return Job{}, fmt.Errorf("read job: %w", err)
	}
	return j, nil
}

// Validate tells what is wrong with the job.
func (j Job) Validate() error {
	switch {
	case j.Drive == "":
		return errors.New("drive: no serial given")
	case j.Dir == "":
		return errors.New("dir: no output directory given")
	}
	if j.MD != nil {
		if err := j.MD.Validate(); err != nil {
			return err
		}
	}
	if err := j.Workload.Validate(); err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	if err := ValidFilesystem(j.Filesystem); err != nil {
		return err
	}
	for _, w := range append([]Spec{j.Workload}, j.Workload.Beside...) {
		switch p := w.program(); {
		case j.Filesystem == NoFilesystem && !p.onDevice():
			return fmt.Errorf("workload %s needs a file system, and this one has filesystem: none", w.Slug())
		case j.Filesystem != NoFilesystem && !p.onFiles():
			return fmt.Errorf("workload %s runs on the drive itself, which needs filesystem: none", w.Slug())
		}
	}
	switch {
	case j.Filesystem == NoFilesystem && len(j.MkfsOptions)+len(j.MountOptions) > 0:
		return errors.New("filesystem: none takes no options for mkfs and mount")
	case j.Filesystem == NoFilesystem && j.Workload.Aged != nil:
		return fmt.Errorf("workload %s is on an aged file system, and this one has filesystem: none", j.Workload.Slug())
	case (j.Made != "") != (j.Workload.Aged != nil):
		return errors.New("made: a file system is on the drive where the workload is on an aged one, and only there")
	}
	for _, m := range []struct {
		what string
		keys map[string]string
	}{{"queue", j.Queue}, {"device", j.Device}, {"sysctl", j.Sysctl}} {
		for _, key := range sortedKeys(m.keys) {
			if err := ValidKnob(m.what, key); err != nil {
				return err
			}
		}
	}
	if err := j.Set.Validate(); err != nil {
		return err
	}
	_, err := j.settings()
	return err
}

// settings gives all settings of the job: the arm's and the workload's.
func (j Job) settings() (Settings, error) {
	arm, err := Settings{Sysctl: j.Sysctl, Queue: j.Queue}.Merge(j.Set)
	if err == nil && j.Workload.Settings != nil {
		arm, err = arm.Merge(*j.Workload.Settings)
	}
	return arm, err
}
