// Package memory bounds the memory of a process with its descendants. The kernel's limits do not serve: that of
// the address space breaks programs that reserve more than they use, such as those of Go, Java and Node; each
// counts one process alone; and users can seldom make a control group. So the processes are checked a few times
// a second and killed beyond the bound.
package memory

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Bound is the limit of a command and its descendants, in bytes. Zero means Default.
type Bound struct{ bytes atomic.Int64 }

// Bytes returns the bound.
func (b *Bound) Bytes() int64 {
	if b != nil {
		if n := b.bytes.Load(); n > 0 {
			return n
		}
	}
	return Default()
}

var attached sync.Map // of *Bound, by *exec.Cmd

// Attach returns the bound of a command about to be confined, which Set changes. Call detach once it has been
// started or given up.
func Attach(cmd *exec.Cmd) (b *Bound, detach func()) {
	b = new(Bound)
	attached.Store(cmd, b)
	return b, func() { attached.Delete(cmd) }
}

// Set sets the limit of a command; zero means Default.
func Set(cmd *exec.Cmd, bytes int64) {
	if b, ok := attached.Load(cmd); ok {
		b.(*Bound).bytes.Store(bytes)
	}
}

// Default returns a quarter of the machine's memory, or of this process's control group limit if less.
var Default = sync.OnceValue(func() int64 { return total() / 4 })

// Text explains to an agent and its user why a command was killed.
func Text(bound int64) string {
	return fmt.Sprintf("toolhost: ended, as its processes took more than %s of memory together. Do less at once. "+
		"Only the user can raise the bound: memory in the sandbox block of agent.hcl.", size(bound))
}

func size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if n >= unit.bytes {
			return strings.TrimSuffix(strconv.FormatFloat(float64(n)/float64(unit.bytes), 'f', 1, 64), ".0") + " " + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
