package plain

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Output makes one stream of a container's output harmless for a terminal. Colours stay, and
// end with each line and each piece, so that they do not reach what others write; they go on in
// the next. Everything else that a terminal would obey is shown as Text shows it.
type Output struct {
	held    string // the beginning of a character or of a colour, whose rest has not come
	colours string // that are on, as the sequences that turn them on
	applied bool   // the terminal has them
}

const (
	escapeStart = "\x1b["
	coloursOff  = "\x1b[0m"
	// maxColour is how long a sequence for colours may be, and all that are on.
	maxColour = 128
)

// Text is what to show of the next piece. What is incomplete at its end comes with the piece
// after it.
func (o *Output) Text(piece string) string {
	if o.held == "" && o.colours == "" && strings.IndexFunc(piece, suspicious) < 0 {
		return piece
	}
	piece, o.held = o.held+piece, ""
	var out strings.Builder
	for piece != "" {
		n := o.next(&out, piece)
		if n == 0 {
			o.held = piece
			break
		}
		piece = piece[n:]
	}
	o.off(&out)
	return out.String()
}

// Rest is what was kept for a piece that has not come.
func (o *Output) Rest() string {
	rest := Text(o.held)
	o.held = ""
	return rest
}

// next writes what the piece begins with, and says how long that is; 0: it is incomplete.
func (o *Output) next(out *strings.Builder, piece string) int {
	switch {
	case strings.HasPrefix(piece, "\r\n"):
		o.off(out)
		out.WriteString("\r\n")
		return len("\r\n")
	case piece[0] == '\n':
		o.off(out)
		out.WriteByte('\n')
		return 1
	case piece == "\r" || strings.HasPrefix(escapeStart, piece):
		return 0
	case strings.HasPrefix(piece, escapeStart):
		if parameters, n := colour(piece); n == 0 && len(parameters)+len(escapeStart) == len(piece) && len(piece) < maxColour {
			return 0
		} else if n > 0 {
			o.turn(out, parameters)
			return n
		}
	case !utf8.FullRuneInString(piece):
		return 0
	}
	r, size := utf8.DecodeRuneInString(piece)
	o.on(out)
	switch {
	case r == utf8.RuneError && size == 1:
		fmt.Fprintf(out, `\x%02x`, piece[0])
	case suspicious(r) && r != utf8.RuneError:
		out.WriteString(escape(r))
	default:
		out.WriteRune(r)
	}
	return size
}

// colour is the parameters of a sequence, and how long it is if it is one for colours (SGR).
func colour(piece string) (parameters string, length int) {
	rest := piece[len(escapeStart):]
	digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != ';' && r != ':' })
	if digits < 0 {
		return rest, 0
	}
	if rest[digits] == 'm' && digits < maxColour {
		return rest[:digits], len(escapeStart) + digits + 1
	}
	return "", 0
}

// turn changes the colours that are on.
func (o *Output) turn(out *strings.Builder, parameters string) {
	o.off(out)
	first, _, several := strings.Cut(parameters, ";")
	sequence := escapeStart + parameters + "m"
	switch reset := strings.Trim(first, "0") == ""; {
	case reset && !several:
		o.colours = ""
	case reset || len(o.colours)+len(sequence) > maxColour:
		o.colours = sequence
	default:
		o.colours += sequence
	}
}

func (o *Output) on(out *strings.Builder) {
	if o.colours != "" && !o.applied {
		out.WriteString(o.colours)
		o.applied = true
	}
}

func (o *Output) off(out *strings.Builder) {
	if o.applied {
		out.WriteString(coloursOff)
		o.applied = false
	}
}

// OutputWriter writes a stream of output to w, a terminal, as Output shows it. Close writes what
// was incomplete to the end; w stays open.
func OutputWriter(w io.Writer) io.WriteCloser { return &outputWriter{w: w} }

type outputWriter struct {
	w      io.Writer
	output Output
}

// Write implements io.Writer.
func (o *outputWriter) Write(piece []byte) (int, error) {
	if _, err := io.WriteString(o.w, o.output.Text(string(piece))); err != nil {
		return 0, err
	}
	return len(piece), nil
}

// Close implements io.Closer.
func (o *outputWriter) Close() error {
	rest := o.output.Rest()
	if rest == "" {
		return nil
	}
	_, err := io.WriteString(o.w, rest)
	return err
}
