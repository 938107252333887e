// Package site tests the site that make site builds.
package site

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/ui/browser"
)

const built = "../../bin/site"

// TestSite: lifepod docs serves its pages, which can be read on a telephone and on a desk, in both languages, and are found by their words.
func TestSite(t *testing.T) {
	packed := assert.Get(os.Stat("../../bundle/assets/docs.tar.zst")).Must(t)
	assert.True(t, packed.Size() <= 2<<20, "the site costs lifepod %d bytes, more than 2 MiB", packed.Size())
	docs := exec.CommandContext(t.Context(), "../../bin/lifepod", "docs", "--lang", "en")
	out := assert.Get(docs.StdoutPipe()).Must(t)
	assert.Must(t, docs.Start())
	t.Cleanup(func() { _ = docs.Wait() }) // killed with the test's context
	url := strings.TrimSuffix(assert.Get(bufio.NewReader(out).ReadString('\n')).Must(t), "/\n")
	p := browser.Open(t, url+"/")
	for _, page := range []string{"index", "guide/index", "guide/hooks", "why", "zh/guide/index", "zh/guide/hooks"} {
		for _, width := range []int64{390, 1280} {
			p.Size(width, 844, width == 390)
			p.Do(chromedp.Navigate(url + "/" + page))
			p.Await(`document.querySelector("main h1")`)
			p.Await("document.documentElement.scrollWidth <= innerWidth")
			p.Shot(fmt.Sprintf("site-%s-%d", strings.ReplaceAll(page, "/", "-"), width))
		}
	}
	p.Press("/")
	p.Await(`document.activeElement.matches(".search-input")`)
	p.Press("preStop")
	p.Await(`[...document.querySelectorAll(".results a")].some((e) => e.href.includes("hooks"))`)
}

// TestLinks: the pages load nothing from other servers, and what they link to on their own is there.
func TestLinks(t *testing.T) {
	foreign := regexp.MustCompile(`<(script|link|img|iframe)[^>]+(src|href)="(https?:)?//[^"]*"|url\("?(https?:)?//[^)]*`)
	own := regexp.MustCompile(`<a [^>]*href="([^":#]+)["#]`)
	pages := 0
	assert.Must(t, filepath.WalkDir(built, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".html" && filepath.Ext(file) != ".css" {
			return err
		}
		text, err := os.ReadFile(file)
		pages++
		for _, found := range foreign.FindAllString(string(text), -1) {
			t.Errorf("%s loads %s", file, found)
		}
		for _, match := range own.FindAllStringSubmatch(string(text), -1) {
			to := filepath.Join(filepath.Dir(file), match[1])
			if strings.HasPrefix(match[1], "/") {
				to = filepath.Join(built, match[1])
			}
			if strings.HasSuffix(match[1], "/") {
				to = filepath.Join(to, "index.html")
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s: %v", file, match[1], err)
			}
		}
		return err
	}))
	assert.True(t, pages >= 20, "the site has %d pages", pages)
}
