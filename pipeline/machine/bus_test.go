package machine_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"spindle/internal/fault"
	"spindle/pipeline/drive"
	"spindle/pipeline/machine"

	"github.com/google/go-cmp/cmp"
)

// What a kernel with drivers for hardware makes of drives on the buses that
// cloud kernels lack, as guests read it back for the record of a sample. The
// numbers are the drivers': 120 KiB is the most that usb-storage asks a USB 2
// disk for, 512 KiB what QEMU's NVMe says with its MDTS of 7; a queue of N+1
// NVMe commands takes N.
func TestHardwareBuses(t *testing.T) {
	drives := []struct {
		machine.Disk
		want map[string]string
	}{
		{machine.Disk{Bus: drive.MegaSAS, Rotation: 7200, WriteCache: true, QueueDepth: 64}, map[string]string{
			"driver": "sd/megaraid_sas", "rotational": "1", "write_cache": "write back", "fua": "0", "wbt_lat_usec": "75000",
		}},
		{machine.Disk{Bus: drive.MegaSAS, Rotation: 1}, map[string]string{
			"driver": "sd/megaraid_sas", "rotational": "0", "write_cache": "write through", "fua": "0", "wbt_lat_usec": "2000",
		}},
		{machine.Disk{Bus: drive.USB, Rotation: 5400, WriteCache: true, QueueDepth: 1}, map[string]string{
			"driver": "sd/usb-storage", "rotational": "1", "write_cache": "write back", "fua": "0", "queue_depth": "1",
			"max_sectors_kb": "120", "wbt_lat_usec": "75000",
		}},
		{machine.Disk{Bus: drive.USB, WriteCache: true, QueueDepth: 8}, map[string]string{
			"driver": "sd/uas", "write_cache": "write back", "fua": "0", "queue_depth": "14",
		}},
		{machine.Disk{Bus: drive.NVMe, WriteCache: true, QueueDepth: 9}, map[string]string{
			"driver": "nvme", "rotational": "0", "write_cache": "write back", "fua": "1", "queue_depth": "9",
			"max_sectors_kb": "512", "logical_block_size": "512", "wbt_lat_usec": "2000",
		}},
		// QEMU 7.2 tells of a cache whether it has one or not.
		{machine.Disk{Bus: drive.NVMe, WriteCache: false, QueueDepth: 9}, map[string]string{
			"driver": "nvme", "rotational": "0", "write_cache": "write back", "fua": "1", "queue_depth": "9",
		}},
	}
	cfg := configOf(t, fullKernel, "ready")
	m := boot(t, "", func(c *machine.Config) {
		*c = cfg
		for i, d := range drives {
			d.Serial = fmt.Sprint("spindle-d", i)
			d.Client = serve(t, &memory{label: fmt.Sprint("drive ", i)})
			c.Drives = append(c.Drives, d.Disk)
		}
	})
	p := ready(t, m)
	for i, d := range drives {
		serial := fmt.Sprint("spindle-d", i)
		p.holds(serial, fmt.Sprint("drive ", i))
		var all map[string]string
		if err := json.Unmarshal([]byte(p.ask("describe "+serial)), &all); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for key := range d.want {
			got[key] = all[key]
		}
		if diff := cmp.Diff(d.want, got); diff != "" {
			t.Errorf("%s on %s (-want +got):\n%s", serial, d.Bus, diff)
		}
		t.Logf("%s: %v", d.Bus, all)
	}
	if err := m.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	ends(t, m, machine.Stopped, fault.Machinery, "")
}
