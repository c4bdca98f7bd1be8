package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// mostPicture bounds a picture of the documentation, in bytes.
const mostPicture = 60 << 10

// shown are the pictures of docs/CONSOLE.md.
var shown = []string{"inbox", "inbox-390-dark", "activity-dark", "changes", "tool", "config-dark"}

// fewColours reduces a picture to its 64 most frequent colours, others to the nearest.
func fewColours(from image.Image) *image.Paletted {
	counts := map[color.RGBA]int{}
	each := func(do func(x, y int, c color.RGBA)) {
		b := from.Bounds()
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				do(x, y, color.RGBAModel.Convert(from.At(x, y)).(color.RGBA))
			}
		}
	}
	each(func(_, _ int, c color.RGBA) { counts[c]++ })
	most := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], bytes.Compare([]byte{a.R, a.G, a.B}, []byte{b.R, b.G, b.B}))
	})
	var palette color.Palette
	for _, c := range most[:min(len(most), 64)] {
		palette = append(palette, c)
	}
	to := image.NewPaletted(from.Bounds(), palette)
	nearest := map[color.RGBA]uint8{}
	each(func(x, y int, c color.RGBA) {
		i, ok := nearest[c]
		if !ok {
			i = uint8(palette.Index(c))
			nearest[c] = i
		}
		to.SetColorIndex(x, y, i)
	})
	return to
}

// TestPictures makes the pictures of docs/CONSOLE.md, into CONSOLE_DOCS if set (make pictures). Each
// page is drawn in light, in dark, and 390 pixels wide; none is empty or large.
func TestPictures(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.dir = filepath.Join(filepath.Dir(u.dir), "shop")
	if err := os.Mkdir(u.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	hcl := "tool \"deploy\" {\n  description = \"Put the shop into the world.\"\n  param \"stage\" {\n    type = string\n    enum = [\"test\", \"live\"]\n  }\n" +
		"  command { argv = [\"echo\", \"deploying to\", param.stage] }\n}\npolicy {\n  rule \"prices\" {\n    tool   = \"edit_file\"\n    action = \"ask\"\n    reason = \"Prices are money.\"\n  }\n}\n"
	u.write("agent.hcl", hcl)
	u.write("prices.json", "{\n  \"apple\": 120,\n  \"pear\": 150\n}\n")
	u.write("README.md", "# The shop\n")
	one, two := u.connect("claude-code"), u.connect("zed")
	one.call("list_files", map[string]any{})
	one.call("read_file", map[string]any{"path": "prices.json"})
	two.call("read_file", map[string]any{"path": "price.json"})
	two.call("write_file", map[string]any{"path": "README.md", "content": "# The shop\n\nPrices are in cents.\n"})
	one.call("write_file", map[string]any{"path": "notes.md", "content": "Pears have become dearer.\n"})
	two.call("edit_file", map[string]any{"path": "prices.json", "old_str": "120", "new_str": "125"})
	one.call("edit_file", map[string]any{"path": "prices.json", "old_str": "150", "new_str": "165"})
	goTo := func(hash string) chromedp.Action[chromedp.Void] {
		return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = %q`, hash))
	}
	do(t, ctx, chromedp.EmulateViewport(1000, 720), chromedp.Navigate(u.console()),
		until(`document.querySelector(".diff .plus")`))
	for _, page := range []struct {
		name string
		open chromedp.Action[chromedp.Void]
	}{
		{"inbox", until(`document.querySelectorAll(".row").length == 2`)},
		{"activity", chromedp.Steps(goTo("#/activity"), until(`document.querySelectorAll(".line").length >= 7`))},
		{"call", chromedp.Steps(openCall("write_file content=$'# The"), until(`document.querySelector(".diff .plus")`))},
		{"changes", chromedp.Steps(goTo("#/changes"), until(`document.querySelectorAll(".files .row").length == 2`),
			until(`document.querySelector(".diff .plus")`))},
		{"tools", chromedp.Steps(goTo("#/tools"), until(`document.querySelectorAll(".row").length > 5`))},
		{"tool", chromedp.Steps(until(`(a => a && (a.click(), true))([...document.querySelectorAll(".row a")].find(a => a.innerText == "edit_file"))`),
			until(`document.querySelector(".form")`))},
		{"sources", chromedp.Steps(goTo("#/sources"), until(`document.querySelectorAll(".plain").length >= 2`))},
		{"config", chromedp.Steps(goTo("#/config"), until(`document.querySelector(".source")`))},
	} {
		do(t, ctx, page.open)
		for _, look := range []struct {
			suffix string
			wide   int64
			dark   bool
		}{{"", 1000, false}, {"-dark", 1000, true}, {"-390", 390, false}, {"-390-dark", 390, true}} {
			do(t, ctx, chromedp.EmulateViewport(look.wide, 720), dark(look.dark), drawn)
			keepPicture(t, ctx, page.name+look.suffix, look.dark)
			if value[bool](t, ctx, over) {
				t.Errorf("%s%s: the list lies over what is beside it", page.name, look.suffix)
			}
		}
		do(t, ctx, chromedp.EmulateViewport(1000, 720), dark(false))
	}
}

// over is true if a list and its details overlap.
const over = `(() => { const a = document.querySelector(".rows")?.getBoundingClientRect(), b = document.querySelector(".detail")?.getBoundingClientRect();
	return !!a && !!b?.width && a.bottom > b.top + 1 && a.right > b.left + 1; })()`

var drawn = chromedp.Steps(chromedp.Evaluate[chromedp.Void](
	`window.drawn = false; requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = true; })); 0`), until(`window.drawn`))

func keepPicture(t *testing.T, ctx context.Context, name string, dark bool) {
	t.Helper()
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	whole, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	few := fewColours(whole)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few); err != nil {
		t.Fatal(err)
	}
	ground := color.GrayModel.Convert(few.Palette[0]).(color.Gray).Y
	if len(few.Palette) < 16 || (ground < 128) != dark {
		t.Errorf("%s has %d colours, the most of %d", name, len(few.Palette), ground)
	}
	if out.Len() > mostPicture {
		t.Errorf("%s has %d bytes", name, out.Len())
	}
	if dir := os.Getenv("CONSOLE_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "page-"+name+".png"), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if dir := os.Getenv("CONSOLE_DOCS"); dir != "" && slices.Contains(shown, name) {
		if err := os.WriteFile(filepath.Join(dir, "console-"+name+".png"), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
