package reports

import (
	"bytes"
	"encoding/json"
	"html"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

// probe is what a browser is asked about a page, once it is laid out. It leaves
// its answer in the title, where --dump-dom shows it.
const probe = `<script>
addEventListener("load", () => {
  const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest("svg") && !e.closest("pre"));
  const svgs = [...document.querySelectorAll("svg")];
  document.title = JSON.stringify({
    overflow: document.documentElement.scrollWidth - innerWidth,
    wide: wide.slice(0, 5).map(e => e.tagName + " " + e.textContent.slice(0, 40)),
    images: document.images.length,
    broken: [...document.images].filter(i => !i.complete || i.naturalWidth == 0).length,
    plots: svgs.length,
    empty: svgs.filter(s => s.getBoundingClientRect().height < 50 || s.querySelectorAll("path,text,circle").length < 5).length,
    tables: document.querySelectorAll("table").length,
  });
});
</script></body>`

// What a real browser makes of a page: its plots are there, nothing reaches out
// of the window at the width of a laptop's and of a telephone's, and it is not
// blank.
func TestBrowser(t *testing.T) {
	proctest.Need(t, "chromium-headless-shell")
	for _, name := range []string{"aa", "broken", "three-arms"} {
		page := render(t, name, "html", false)
		dir := t.TempDir()
		shown := filepath.Join(dir, "report.html")
		if err := os.WriteFile(shown, bytes.Replace(page, []byte("</body>"), []byte(probe), 1), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, size := range []string{"1280,4000", "500,4000"} { // Chromium has no narrower windows
			picture := filepath.Join(dir, "page.png")
			dom := chromium(t, dir, "--window-size="+size, "--dump-dom", shown)
			title := regexp.MustCompile(`<title>(\{.*?\})</title>`).FindSubmatch(dom)
			if title == nil {
				t.Fatalf("%s: the browser left no answer in\n%.500s", name, dom)
			}
			var got struct {
				Overflow, Images, Broken, Plots, Empty, Tables int
				Wide                                           []string
			}
			if err := json.Unmarshal([]byte(html.UnescapeString(string(title[1]))), &got); err != nil {
				t.Fatal(err)
			}
			if got.Overflow > 0 || got.Broken > 0 || got.Empty > 0 || got.Plots+got.Images == 0 || got.Tables == 0 {
				t.Errorf("%s at %s: %+v", name, size, got)
			}
			chromium(t, dir, "--window-size="+size, "--hide-scrollbars", "--screenshot="+picture, shown)
			data, err := os.ReadFile(picture)
			if err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if ink := inkOf(img); ink < 0.01 || ink > 0.5 {
				t.Errorf("%s at %s: %.1f %% of the page is dark", name, size, 100*ink)
			}
			if out := os.Getenv("SPINDLE_TEST_PLOTS"); out != "" { // to look at it
				if err := os.WriteFile(filepath.Join(out, name+"-"+size+".png"), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// chromium runs the browser without a window and gives what it prints.
func chromium(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	out, err := proc.Run(t.Context(), proc.Cmd{
		Path: "chromium-headless-shell",
		Args: append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=10000", "--user-data-dir=" + filepath.Join(dir, "profile")}, args...),
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.Stderr)
	}
	return out.Stdout
}

// inkOf gives the share of a picture that is darker than half.
func inkOf(img image.Image) float64 {
	b := img.Bounds()
	dark := 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if r, g, bl, _ := img.At(x, y).RGBA(); r+g+bl < 3*0x8000 {
				dark++
			}
		}
	}
	return float64(dark) / float64(b.Dx()*b.Dy())
}
