// Package browser drives a headless Chromium for the tests of the page, and asks axe-core whether all
// people can use what it shows.
package browser

import (
	"context"
	"crypto/sha256"
	_ "embed" // of axe-core
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	js "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axe is axe-core 4.14.1 (MPL-2.0, see the licences beside it), as `npm pack axe-core@4.14.1` has it.
//
//go:embed testdata/axe.min.js
var axe string

// axeDigest is its SHA-256.
const axeDigest = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

// patience is how long anything may take before a test gives up.
const patience = 60 * time.Second

// Page is a page that is shown.
type Page struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string // what the page has thrown, and what its policy has forbidden; guarded by mu
	lost       []string // what could not be loaded, and why; guarded by mu
}

// Open starts a browser of its own and goes to an address. It ends with the test, with its profile.
func Open(t *testing.T, address string) *Page {
	t.Helper()
	profile, err := os.MkdirTemp("", "lp-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WSURLReadTimeout(patience),
	)
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	p := &Page{t: t, ctx: ctx}
	begun, over := make(chan error), make(chan struct{})
	go func() {
		// The kernel ends the browser with the thread that has started it, and not with its process (Pdeathsig):
		// this thread lives as long as the browser. Others end with a test that has changed them.
		runtime.LockOSThread()
		begun <- chromedp.Run(ctx)
		<-over
	}()
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the browser's end
		cancel()
		endAllocator()
		close(over)
		if err := os.RemoveAll(profile); err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, text := range p.complaints {
			t.Errorf("the page complains: %s", text)
		}
	})
	chromedp.ListenTarget(ctx, func(event any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch e := event.(type) {
		case *js.EventExceptionThrown:
			p.complaints = append(p.complaints, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			switch e.Entry.Source {
			case log.SourceSecurity:
				p.complaints = append(p.complaints, e.Entry.Text)
			case log.SourceNetwork:
				p.lost = append(p.lost, e.Entry.URL+": "+e.Entry.Text)
			default:
			}
		}
	})
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	p.Do(chromedp.Navigate(address))
	return p
}

// Do does what chromedp can do. The browser's context has no deadline of its own, as the first one would end
// the browser.
func (p *Page) Do(actions ...chromedp.Action) {
	p.t.Helper()
	done := make(chan error, 1)
	go func() { done <- chromedp.Run(p.ctx, actions...) }()
	select {
	case err := <-done:
		if err != nil {
			p.t.Fatal(err)
		}
	case <-time.After(patience):
		p.t.Fatalf("the browser has not done it after %v; it shows\n%s", patience, p.now())
	}
}

// now is what the page shows, and what of it could not be loaded, for a failure.
func (p *Page) now() (text string) {
	ctx, cancel := context.WithTimeout(p.ctx, time.Second)
	defer cancel()
	_ = chromedp.Run(ctx, chromedp.Evaluate("document.body.innerText", &text))
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(append([]string{text}, p.lost...), "\n")
}

// Size makes the window that large, and the colours dark or light.
func (p *Page) Size(width, height int64, dark bool) {
	p.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.Do(chromedp.EmulateViewport(width, height), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}))
}

// Await waits until an expression of JavaScript holds.
func (p *Page) Await(expression string) {
	p.t.Helper()
	for late := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		var holds bool
		p.Do(chromedp.Evaluate("Boolean("+expression+")", &holds))
		if holds {
			return
		}
		if time.Now().After(late) {
			p.t.Fatalf("%s does not hold after %v; the page shows\n%s", expression, patience, p.now())
		}
	}
}

// AwaitText waits until what a selector finds has a text in it.
func (p *Page) AwaitText(selector, text string) {
	p.t.Helper()
	p.Await(fmt.Sprintf("[...document.querySelectorAll(%q)].some((e) => e.textContent.includes(%q))", selector, text))
}

// Text is what a selector finds first, as text.
func (p *Page) Text(selector string) (text string) {
	p.t.Helper()
	p.Do(chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector), &text))
	return text
}

// Press presses keys, one after the other.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.Do(chromedp.KeyEvent(keys))
}

// TabTo presses Tab until the focus is at what a selector finds.
func (p *Page) TabTo(selector string) {
	p.t.Helper()
	const most = 80
	for range most {
		var there bool
		p.Press("\t")
		p.Do(chromedp.Evaluate(fmt.Sprintf("document.activeElement?.matches(%q)", selector), &there))
		if there {
			return
		}
	}
	p.t.Fatalf("%d presses of Tab don't reach %s", most, selector)
}

// violation is what axe-core finds.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// Accessible fails the test if axe-core finds anything.
func (p *Page) Accessible(what string) {
	p.t.Helper()
	if sum := sha256.Sum256([]byte(axe)); hex.EncodeToString(sum[:]) != axeDigest {
		p.t.Fatal("axe.min.js is not that of axe-core 4.14.1")
	}
	var found []violation
	awaitPromise := func(p *js.EvaluateParams) *js.EvaluateParams { return p.WithAwaitPromise(true) }
	p.Do(chromedp.Evaluate(axe+"; 1", nil), chromedp.Evaluate("axe.run().then((r) => r.violations)", &found, awaitPromise))
	for _, v := range found {
		var nodes []string
		for _, n := range v.Nodes {
			nodes = append(nodes, n.HTML+"\n"+n.Summary)
		}
		p.t.Errorf("%s: %s: %s\n%s", what, v.ID, v.Help, strings.Join(nodes, "\n"))
	}
	var wide bool
	p.Do(chromedp.Evaluate("document.documentElement.scrollWidth > innerWidth", &wide))
	if wide {
		p.t.Errorf("%s: the page is wider than its window", what)
	}
}

// Shot keeps a picture of the window as a file, if the variable LIFEPOD_SHOTS names a folder.
func (p *Page) Shot(name string) {
	p.t.Helper()
	folder := os.Getenv("LIFEPOD_SHOTS")
	if folder == "" {
		return
	}
	var picture []byte
	p.Do(chromedp.CaptureScreenshot(&picture))
	if err := os.WriteFile(folder+"/"+name+".png", picture, 0o644); err != nil { //nolint:gosec // everybody may look at it
		p.t.Fatal(err)
	}
}

// Click clicks what a selector finds with exactly this text, once it is there.
func (p *Page) Click(selector, text string) {
	p.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll(%q)].find((e) => e.textContent.trim() === %q)", selector, text)
	p.Await(find)
	p.Do(chromedp.Evaluate(find+".click()", nil))
}
