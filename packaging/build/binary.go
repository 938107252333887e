package main

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// binary is what the package is made for.
type binary struct {
	path    string
	arch    string   // Debian's name
	depends []string // packages of the libraries that it is linked with
}

func inspect(path string) (binary, error) {
	file, err := elf.Open(path)
	if err != nil {
		return binary{}, fmt.Errorf("which architecture %s is for: %w", path, err)
	}
	defer file.Close()
	out := binary{path: path}
	switch file.Machine {
	case elf.EM_X86_64:
		out.arch = "amd64"
	case elf.EM_AARCH64:
		out.arch = "arm64"
	default:
		return binary{}, fmt.Errorf("%s is for %v, want x86-64 or arm64", path, file.Machine)
	}
	out.depends, err = libraries(file)
	if err != nil {
		return binary{}, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// libraries are none for a static binary, else libc6 from the version on whose
// symbols the binary uses.
func libraries(file *elf.File) ([]string, error) {
	names, err := file.ImportedLibraries()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	needs, err := file.DynamicVersionNeeds()
	if err != nil {
		return nil, err
	}
	newest := "2.17"
	for _, need := range needs {
		if need.Name != "libc.so.6" && !strings.HasPrefix(need.Name, "ld-linux") {
			return nil, fmt.Errorf("it is linked with %s, want libc alone", need.Name)
		}
		for _, symbols := range need.Needs {
			if version, ok := strings.CutPrefix(symbols.Dep, "GLIBC_"); ok {
				newest = slices.MaxFunc([]string{newest, version}, compareVersions)
			}
		}
	}
	return []string{"libc6 (>= " + newest + ")"}, nil
}

// compareVersions compares dotted numbers.
func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		return cmp.Compare(m, n)
	})
}
