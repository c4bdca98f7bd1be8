package main

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// The console ends with toolhost console, even if killed; the end of standard input ends neither.
func TestConsoleEndsWithItsParent(t *testing.T) {
	for name, end := range map[string]func(*os.Process) error{
		"killed":      (*os.Process).Kill,
		"interrupted": func(p *os.Process) error { return p.Signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newUser(t).command("console") // its standard input is empty
			out, err := c.StdoutPipe()
			if err == nil {
				err = c.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			base, _, ok := strings.Cut(listen(out).find(t, `^http://\S+`), "/#code=")
			if !ok {
				t.Fatal(base)
			}
			for range 20 {
				if !answered(base) {
					t.Fatal("the console ended with nobody's word")
				}
				time.Sleep(10 * time.Millisecond)
			}
			if err := end(c.Process); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the console ends", func() bool { return !answered(base) })
			_ = c.Wait()
		})
	}
}

// answered reports whether somebody listens at an address.
func answered(address string) bool {
	c, err := net.DialTimeout("tcp", strings.TrimPrefix(address, "http://"), 10*time.Second)
	if err != nil {
		return false
	}
	return c.Close() == nil
}
