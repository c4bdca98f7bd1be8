package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/run/proc"
)

type bench struct {
	dir   string            // temporary, of this program
	woven map[string]string // the files given to the compiler instead
	apart map[int]bool      // mutations that are not in them, by line

	mu        sync.Mutex
	unmutated map[string]func() (time.Duration, string, error) // tests without a mutation
}

func newBench(dir string, all []mutation) (*bench, error) {
	b := &bench{dir: dir, woven: make(map[string]string), apart: make(map[int]bool),
		unmutated: make(map[string]func() (time.Duration, string, error))}
	files := make(map[string][]mutation)
	var packages []string
	for _, m := range all {
		files[m.file] = append(files[m.file], m)
		packages = append(packages, m.packages)
	}
	for file, ms := range files {
		if err := b.weave(file, ms); err != nil {
			return nil, err
		}
	}
	if err := b.overlay("woven", b.woven); err != nil {
		return nil, err
	}
	slices.Sort(packages)
	if said, err := b.build("woven", slices.Compact(packages)...); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said)
	}
	return b, nil
}

func (b *bench) weave(file string, all []mutation) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	woven, pkg, apart, err := weave(string(source), all)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, m := range apart {
		b.apart[m.line] = true
	}
	if len(apart) < len(all) {
		b.woven[file] = woven
		b.woven[filepath.Join(filepath.Dir(file), "mutation_chosen.go")] = chooser(pkg)
	}
	return nil
}

// overlay writes files, and a list for the compiler of the files that they replace.
func (b *bench) overlay(name string, files map[string]string) error {
	dir := filepath.Join(b.dir, name)
	err := os.Mkdir(dir, 0o700)
	replace := make(map[string]string)
	for file, text := range files {
		abs, absErr := filepath.Abs(file)
		replace[abs] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		err = errors.Join(err, absErr, os.WriteFile(replace[abs], []byte(text), 0o600))
	}
	data, jsonErr := json.Marshal(map[string]any{"Replace": replace})
	return errors.Join(err, jsonErr, os.WriteFile(filepath.Join(dir, "overlay.json"), data, 0o600))
}

// build builds packages' tests with an overlay, as PACKAGE.test beside it.
func (b *bench) build(overlay string, packages ...string) (said string, err error) {
	of := make(map[string][]string) // by module
	for _, pkg := range packages {
		if rest, ok := strings.CutPrefix(pkg, "./fleet/"); ok {
			of["fleet"] = append(of["fleet"], "./"+rest)
		} else {
			of["."] = append(of["."], pkg)
		}
	}
	for module, own := range of {
		args := append([]string{"test", "-C", module, "-c", "-vet=off", "-o",
			filepath.Join(b.dir, overlay) + string(filepath.Separator)}, own...)
		cmd := exec.Command("go", args...)
		cmd.Env = b.env(overlay)
		out, failed := cmd.CombinedOutput()
		said += string(out)
		err = errors.Join(err, failed)
	}
	return said, err
}

func (b *bench) env(overlay string, more ...string) []string {
	flags := strings.TrimSpace(os.Getenv("GOFLAGS") + " -overlay=" + filepath.Join(b.dir, overlay, "overlay.json"))
	return append(append(os.Environ(), "GOFLAGS="+flags), more...) // also for programs that tests build
}

// try runs the tests of a mutation, and returns how they noticed it. Without it they must pass.
func (b *bench) try(m mutation) (how, said string, err error) {
	usual, said, err := b.without(m)
	if err != nil {
		return "", said, err
	}
	overlay, chosen := "woven", fmt.Sprint(m.line)
	if b.apart[m.line] {
		mutated, err := m.apply()
		if err != nil {
			return "", "", err
		}
		overlay = "apart" + chosen
		if err := b.overlay(overlay, map[string]string{m.file: mutated}); err != nil {
			return "", "", err
		}
		if said, err := b.build(overlay, m.packages); err != nil {
			return "", said, fmt.Errorf("it does not compile: %w", err)
		}
	}
	said, err = b.test(overlay, chosen, m, time.Minute+4*usual)
	switch {
	case errors.Is(err, errHangs):
		return "hangs", said, nil
	case err != nil:
		return "fails", said, nil
	}
	return "", said, nil
}

// without runs a mutation's tests without it, once for all mutations that name them.
func (b *bench) without(m mutation) (time.Duration, string, error) {
	b.mu.Lock()
	run, ok := b.unmutated[m.packages+" "+m.test]
	if !ok {
		run = onceValues(func() (time.Duration, string, error) {
			began := time.Now()
			said, err := b.test("woven", "", m, 10*time.Minute)
			switch {
			case err != nil:
				err = fmt.Errorf("%s in %s also fails without it: %w", m.test, m.packages, err)
			case strings.Contains(said, "no tests to run"):
				err = fmt.Errorf("there is no %s in %s", m.test, m.packages)
			case strings.Contains("\n"+said, "\n--- SKIP: "):
				err = fmt.Errorf("%s in %s skips here, so it could notice nothing", m.test, m.packages)
			}
			return time.Since(began), said, err
		})
		b.unmutated[m.packages+" "+m.test] = run
	}
	b.mu.Unlock()
	return run()
}

// onceValues is sync.OnceValues for three.
func onceValues(f func() (time.Duration, string, error)) func() (time.Duration, string, error) {
	type values struct {
		took time.Duration
		said string
		err  error
	}
	once := sync.OnceValue(func() values {
		took, said, err := f()
		return values{took, said, err}
	})
	return func() (time.Duration, string, error) { v := once(); return v.took, v.said, v.err }
}

// test runs the tests of a mutation, with the chosen one, within a limit. A hanging test is
// killed with its children.
func (b *bench) test(overlay, chosen string, m mutation, limit time.Duration) (said string, err error) {
	tmp, err := os.MkdirTemp(b.dir, "")
	if err != nil {
		return "", err
	}
	res, err := proc.Run(context.Background(), proc.Command{
		Argv: []string{filepath.Join(b.dir, overlay, filepath.Base(m.packages)+".test"), "-test.run=" + m.test,
			"-test.paniconexit0", "-test.v=" + strconv.FormatBool(chosen == "")},
		Dir:     m.packages,
		Env:     b.env(overlay, chosenEnv+"="+chosen, "TMPDIR="+tmp),
		Timeout: limit,
	})
	switch {
	case err != nil:
		return "", err
	case res.TimedOut:
		err = errHangs
	case res.ExitCode != 0:
		err = fmt.Errorf("exit code %d", res.ExitCode)
	}
	said = string(slices.Concat(res.Stdout.Head, []byte("\n"), res.Stdout.Tail, res.Stderr.Head, res.Stderr.Tail))
	return said, err
}

var errHangs = errors.New("it does not end")
