package workloads

import "testing"

func TestClients(t *testing.T) {
	fio := func(job string) Spec { return Spec{Fio: &Fio{Job: job}} }
	for name, tt := range map[string]struct {
		spec Spec
		n    int
	}{
		"create":   {Spec{Name: "x", Create: &Create{Processes: 3}}, 3},
		"default":  {Spec{Create: &Create{}}, 8},
		"ioperf":   {Spec{Ioperf: &Ioperf{Readers: 30}}, 30},
		"fio":      {fio("[a]\nrw=read\nsize=1M\nnumjobs=4\n[b]\nrw=write\nsize=1M\n"), 5},
		"options":  {Spec{Fio: &Fio{Options: map[string]string{"rw": "read", "size": "1M", "numjobs": "2"}}}, 2},
		"dd":       {Spec{DD: &DD{}}, 0},
		"nonsense": {fio("no job"), 0},
	} {
		n, but := tt.spec.Clients()
		if n != tt.n || (n > 0) != (but != "") {
			t.Errorf("%s: %d clients, %q", name, n, but)
		}
	}
	_, one := fio("[a]\nrw=read\nnumjobs=1\nsize=1M\n").Clients()
	_, ten := fio("[a]\nrw=read\nnumjobs=10\nsize=1M\n").Clients()
	_, other := fio("[a]\nrw=write\nnumjobs=10\nsize=1M\n").Clients()
	if one != ten || one == other {
		t.Errorf("alike: %q, %q, not %q", one, ten, other)
	}
	spec := Spec{Create: &Create{Processes: 3}}
	if spec.Clients(); spec.Create.Processes != 3 {
		t.Error("the spec was changed")
	}
}
