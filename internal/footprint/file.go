package footprint

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"
)

// ForgetFiles lets go of the pages of files that were read by mapping them: of the
// program's own, such as what it carries, and of a database, of which etcd maps all pages
// at its start, 16 MiB of them for the smallest. It can't fail: pages that stay harm nobody.
func ForgetFiles() {
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = smaps.Close() }() // only read
	for _, m := range mappings(smaps) {
		if m.file != "" && !m.differs {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
		}
	}
}

// grown is by how many bytes of files there must be more before they are worth letting go.
const grown = 8 << 20

// Files are let go at most forgetBurst times in a row, and then once in forgetEvery. With probes a program needs its file all the time,
// and to have the kernel map it again takes 6 to 12 ms of a processor.
const (
	forgetEvery = 5 * time.Second
	forgetBurst = 2
)

// forgetGrown makes a function that is ForgetFiles if files have grown since its last call that was, unless there were too many.
func forgetGrown() func() {
	left, often := 0, rate.NewLimiter(rate.Every(forgetEvery), forgetBurst)
	return func() {
		if ofFiles() >= left+grown && often.Allow() {
			ForgetFiles()
			left = ofFiles()
		}
	}
}

// ofFiles is how much of files is resident, in bytes; 0 if the kernel does not tell.
func ofFiles() int {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident, files int // in pages
	if _, err := fmt.Sscan(string(statm), &size, &resident, &files); err != nil {
		return 0
	}
	return files * os.Getpagesize()
}

// mapping is a part of the address space.
type mapping struct {
	from, to uintptr
	file     string
	differs  bool // has pages, or may have, that are not the file's: they would be lost
}

// mappings reads /proc/PID/smaps: of each mapping one line that begins with an address, and twenty that begin with a name.
func mappings(smaps io.Reader) []mapping {
	var list []mapping
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		if size, of := strings.CutPrefix(lines.Text(), "Anonymous:"); of {
			if n := len(list); n > 0 && strings.TrimSpace(size) != "0 kB" {
				list[n-1].differs = true
			}
			continue
		}
		if m, ok := header(lines.Text()); ok {
			list = append(list, m)
		}
	}
	return list
}

// header is the first line of a mapping.
func header(line string) (m mapping, ok bool) {
	if line == "" || line[0] >= 'A' && line[0] <= 'Z' {
		return mapping{}, false
	}
	var mode, offset, device string
	var inode uint64
	if _, err := fmt.Sscanf(line, "%x-%x %s %s %s %d", &m.from, &m.to, &mode, &offset, &device, &inode); err != nil {
		return mapping{}, false
	}
	if at := strings.Index(line, "/"); at >= 0 {
		m.file = line[at:]
	}
	m.differs = len(mode) != 4 || mode[1] == 'w' // shared or not: what can't be written is the file's
	return m, true
}
