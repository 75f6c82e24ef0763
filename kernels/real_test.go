package kernels

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"spindle/internal/proc/proctest"
	"spindle/internal/store/storetest"
	"spindle/kernels/kbuild"
)

// TestSameKernel builds the smallest kernel of Debian's source twice, in two
// directories with nothing in common, the second time without the compiler's
// cache: the same bytes. Each build takes about five minutes of CPU time, which
// on two cores is more than go test gives a package beside the others, so it is
// asked for by name, as .ci/run does.
func TestSameKernel(t *testing.T) {
	if os.Getenv("SPINDLE_TEST_BUILDS") == "" || testing.Short() {
		t.Skip("builds two kernels: SPINDLE_TEST_BUILDS=1 go test -timeout 1h -run TestSameKernel ./kernels")
	}
	proctest.Need(t, "git", "make", "gcc", "perl", "ld", "flex", "bison", "bc", "gzip", "xz", "apt-get", "dpkg-deb")
	cache, _ := storetest.User(t)
	env := Env{Store: openStore(t), AptDir: filepath.Join(cache, "apt"), Dir: filepath.Join(cache, "kernels")}
	spec, _, err := plan(t.Context(), env, Source{Deb: "linux-source-6.12", Config: Parts{"tiny", "testdata/smallest.config"}})
	if err != nil {
		t.Fatal(err)
	}
	var images [][]byte
	for i, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "another/and/longer")} {
		err := kbuild.Build(t.Context(), kbuild.Env{Dir: dir, NoCache: i == 1}, spec, func(r kbuild.Result) error {
			image, err := os.ReadFile(r.Image)
			images = append(images, image)
			if bytes.Contains(image, []byte(dir)) {
				t.Errorf("the image has %s in it", dir)
			}
			t.Logf("%s: %d objects, %d bytes", r.Release, r.Objects, len(image))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(images[0], images[1]) {
		t.Error("the images differ")
	}
	header, err := parseImage(images[0])
	if err != nil || header.version == "" {
		t.Errorf("%+v, %v", header, err)
	}
}
