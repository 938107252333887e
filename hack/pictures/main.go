// Command pictures makes the pictures of docs/guide from pictures.yaml, in English and Chinese: a way from top to bottom that can be
// read on a telephone, in light and dark.
package main

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"sigs.k8s.io/yaml"
)

//go:embed pictures.yaml
var source []byte

// both is a text in English and Chinese.
type both [2]string

// languages are the folders of docs in which the pictures are.
var languages = [2]string{"docs/guide", "docs/zh/guide"}

type document struct {
	Who      map[string]both
	Pictures []picture
}

type picture struct {
	Name   string
	Title  both
	Stages string // of what its steps have to show all: of lifecycle.Stage, or of group.Do; empty: of nothing
	Steps  []step
}

type step struct {
	Who   string
	Stage string
	Text  both
	Rules []string // of the contract
	Aside both     // what may happen beside it
}

// Sizes in units of the picture, which is as wide as a telephone.
const (
	pageWidth  = 390
	margin     = 12
	lineHeight = 19
	gap        = 20 // between boxes, for the arrow
	columns    = 43 // of text in a box, a Chinese character taking two
)

const style = `text{font:14px system-ui,"Noto Sans CJK SC",sans-serif;fill:#1f2328}.t{font-weight:600;font-size:17px}.w,.r{font-size:11px;fill:#59636e}
.a{font-size:12.5px;fill:#59636e}rect{fill:#f6f8fa;stroke:#d1d9e0}path{stroke:#818b98;fill:none}
.api{fill:#0969da}.scheduler{fill:#8250df}.controller{fill:#bc4c00}.node{fill:#1a7f37}.runtime{fill:#9a6700}.generic{fill:#cf222e}.evented{fill:#bf3989}.process{fill:#59636e}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.w,.r,.a{fill:#9198a1}rect{fill:#151b23;stroke:#3d444d}path{stroke:#9198a1}
.api{fill:#4493f8}.scheduler{fill:#ab7df8}.controller{fill:#db6d28}.node{fill:#3fb950}.runtime{fill:#d29922}.generic{fill:#f85149}.evented{fill:#db61a2}.process{fill:#9198a1}}`

func main() {
	log.SetFlags(0)
	d, err := read()
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range d.Pictures {
		for l, folder := range languages {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				log.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, p.Name+".svg"), []byte(d.draw(p, l)), 0o644); err != nil { //nolint:gosec // everybody may look at it
				log.Fatal(err)
			}
		}
	}
}

func read() (d document, err error) {
	return d, yaml.UnmarshalStrict(source, &d)
}

// draw is a picture in a language.
func (d document) draw(p picture, l int) string {
	var body strings.Builder
	y := margin + 2*lineHeight
	text(&body, "t", margin, margin+lineHeight, p.Title[l])
	for i, s := range p.Steps {
		lines, aside := fold(s.Text[l], columns), fold(s.Aside[l], columns+3)
		height := (len(lines)+1)*lineHeight + len(aside)*(lineHeight-2) + 8
		fmt.Fprintf(&body, `<rect x="%d" y="%d" width="%d" height="%d" rx="6"/><path class="%s" style="stroke:none" d="M%d %dh5v%dh-5z"/>`+"\n",
			margin, y, pageWidth-2*margin, height, s.Who, margin, y+6, height-12)
		at := y + lineHeight - 3
		who := d.Who[s.Who][l]
		if s.Stage != "" {
			who += " · " + s.Stage
		}
		text(&body, "w", margin+16, at, who)
		fmt.Fprintf(&body, `<text class="r" x="%d" y="%d" text-anchor="end">%s</text>`+"\n", pageWidth-margin-8, at, strings.Join(s.Rules, " "))
		for _, line := range lines {
			at += lineHeight
			text(&body, "", margin+16, at, line)
		}
		for _, line := range aside {
			at += lineHeight - 2
			text(&body, "a", margin+16, at, line)
		}
		y += height
		if i < len(p.Steps)-1 {
			fmt.Fprintf(&body, `<path d="M%d %dv%dm-4 -5 4 5 4 -5"/>`+"\n", pageWidth/2, y+2, gap-5)
			y += gap
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" role="img" aria-label="%[3]s"><style>%[4]s</style>`+"\n%[5]s</svg>\n",
		pageWidth, y+margin, escape(p.Title[l]), style, body.String())
}

func text(b *strings.Builder, class string, x, y int, line string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(b, `<text%s x="%d" y="%d">%s</text>`+"\n", class, x, y, escape(line))
}

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes all
	return b.String()
}

// fold breaks a text into lines: between words, and between Chinese characters.
func fold(s string, most int) (lines []string) {
	line, columns := "", 0
	for _, word := range words(s) {
		if w := ansi.StringWidthWc(word); columns+w > most && line != "" {
			lines, line, columns = append(lines, strings.TrimSpace(line)), "", 0
		}
		line += word
		columns += ansi.StringWidthWc(word)
	}
	if line != "" {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// words are what a line may be broken after: words with their space, Chinese characters with the punctuation that follows.
func words(s string) (list []string) {
	word := ""
	for _, r := range s {
		switch {
		case strings.ContainsRune("，。；：、！）", r):
			list, word = append(list, word+string(r)), ""
		case wide(r):
			if word != "" {
				list = append(list, word)
			}
			word = string(r)
		case r == ' ':
			list, word = append(list, word+" "), ""
		case word != "" && wide([]rune(word)[0]):
			list, word = append(list, word), string(r)
		default:
			word += string(r)
		}
	}
	return append(list, word)
}

func wide(r rune) bool { return ansi.StringWidthWc(string(r)) == 2 }
