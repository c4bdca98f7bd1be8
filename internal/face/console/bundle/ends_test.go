package main

import (
	"bufio"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// The console ends with toolhost console, also with one that is killed; the end of
// what a person can type ends neither.
func TestConsoleEndsWithItsParent(t *testing.T) {
	for name, end := range map[string]func(*os.Process) error{
		"killed":      (*os.Process).Kill,
		"interrupted": func(p *os.Process) error { return p.Signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newUser(t).command("console") // its standard input is at its end from the start
			out, err := c.StdoutPipe()
			if err == nil {
				err = c.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			base, _, ok := strings.Cut(strings.TrimPrefix(line, "http://"), "/#code=")
			if err != nil || !ok {
				t.Fatal(line, err)
			}
			for range 20 {
				if !answers(base) {
					t.Fatal("the console ended with nobody's word")
				}
				time.Sleep(10 * time.Millisecond)
			}
			if err := end(c.Process); err != nil {
				t.Fatal(err)
			}
			for until := time.Now().Add(time.Minute); answers(base); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(until) {
					t.Fatal("the console runs on")
				}
			}
			_ = c.Wait()
		})
	}
}

func answers(address string) bool {
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return false
	}
	return c.Close() == nil
}
