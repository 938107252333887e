// Command suites runs those of the suites of suites.yaml that a change touches, the most important first, in the time
// that there is; without -run it only says which.
//
//	go run ./hack/suites -since main -minutes 40 -run
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	since := flag.String("since", "", "the `commit` that the change began at; empty, or one that is not there: everything is taken as changed")
	minutes := flag.Int("minutes", 60, "how long all may take, in `minutes`")
	run := flag.Bool("run", false, "run them")
	flag.Parse()
	if err := choose(*since, time.Duration(*minutes)*time.Minute, *run); err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

func choose(since string, limit time.Duration, run bool) error {
	suites, err := load("hack/suites/suites.yaml")
	if err != nil {
		return err
	}
	changed, all, err := changedSince(since)
	if err != nil {
		return err
	}
	touched, rest := suites, []suite(nil)
	if !all {
		if touched, rest, err = split(suites, changed); err != nil {
			return err
		}
	}
	fmt.Printf("touched by the change: %s\nnot touched: %s\n", names(touched), names(rest))
	if !run {
		return nil
	}
	return runAll(touched, limit)
}

// changedSince is what git knows to be another than in a commit, new files included, by paths; all: everything is.
func changedSince(commit string) (paths []string, all bool, err error) {
	if commit == "" || !isCommit(commit) {
		return nil, true, nil
	}
	for _, arguments := range [][]string{{"diff", "--name-only", commit}, {"ls-files", "--others", "--exclude-standard"}} {
		out, err := exec.Command("git", arguments...).Output()
		if err != nil {
			return nil, false, fmt.Errorf("git %s: %w", strings.Join(arguments, " "), err)
		}
		paths = append(paths, strings.Fields(string(out))...)
	}
	return paths, everything(paths), nil
}

func isCommit(name string) bool {
	return exec.Command("git", "cat-file", "-e", name+"^{commit}").Run() == nil
}

// runAll runs suites one after the other. One that would not end in time is left out, and said.
func runAll(suites []suite, limit time.Duration) error {
	end := time.Now().Add(limit)
	var failed, left []string
	for _, s := range suites {
		if s.Commit != "" && !isCommit(s.Commit) {
			fmt.Printf("not run: %s: this clone has no commit %s, as it is shallow\n", s.Target, s.Commit)
			continue
		}
		if time.Until(end) < time.Duration(s.Minutes)*time.Minute {
			left = append(left, s.Target)
			continue
		}
		command := exec.Command("hack/part", s.Target, "make", "--no-print-directory", s.Target)
		command.Stdout, command.Stderr = os.Stdout, os.Stderr
		if err := command.Run(); err != nil {
			failed = append(failed, s.Target)
		}
	}
	if len(left) > 0 {
		fmt.Println("not run, for want of time:", strings.Join(left, " "))
	}
	if len(failed) > 0 {
		return errors.New("failed: " + strings.Join(failed, " "))
	}
	return nil
}
