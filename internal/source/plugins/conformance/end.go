package conformance

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
)

func endChecks() []check {
	return []check{
		{"output.quiet", "print nothing but the handshake on standard output", checkQuiet},
		{"end.stdin", "end when its standard input ends, as it does when the host dies", checkStdin},
		{"end.term", "end on SIGTERM", checkTerm},
		{"end.clean", "leave nothing in the directory of its socket but the socket", checkClean},
	}
}

func checkQuiet(_ context.Context, k *kit) error {
	p, err := k.started()
	if err != nil {
		return err
	}
	if noise := p.noise(); len(noise) > 0 {
		return fmt.Errorf("it printed %d lines more, the first: %q", len(noise), noise[0])
	}
	return nil
}

func checkStdin(ctx context.Context, k *kit) error {
	p, err := k.another(ctx)
	if err != nil {
		return err
	}
	defer p.kill()
	p.stdin.Close()
	if !p.ends(k.options.Timeout) {
		return fmt.Errorf("it still runs %s later", k.options.Timeout)
	}
	return nil
}

func checkTerm(ctx context.Context, k *kit) error {
	p, err := k.another(ctx)
	if err != nil {
		return err
	}
	defer p.kill()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if !p.ends(k.options.Timeout) {
		return fmt.Errorf("it still runs %s later", k.options.Timeout)
	}
	return nil
}

func checkClean(_ context.Context, k *kit) error {
	p, err := k.started()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(p.socketDir)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if e.Type()&os.ModeSocket == 0 {
			names = append(names, e.Name())
		}
	}
	if names != nil {
		return fmt.Errorf("there are: %s", strings.Join(names, ", "))
	}
	return nil
}
