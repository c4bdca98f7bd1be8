package launch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEncoding(t *testing.T) {
	full := &Plan{
		Namespaces: true, Loopback: true, List: true, TmpSize: 1 << 40, Dir: "/dir", Files: 3, Path: "/bin/prog",
		Args:   []string{"prog", "", "-x", "a\nb", "R/etc"},
		View:   []Change{{Scratch, "/tmp"}, {Writable, "/tmp/w"}, {Hidden, "/h"}, {Blank, "/b"}, {Void, "/v"}, {ReadOnly, "/r"}},
		Read:   []string{"/", "/usr bin"},
		Write:  []string{"/w"},
		Device: []string{"/dev/null"},
		Filter: Filter{Inet: true, Route: true, SysV: true},
		Limits: []Limit{{Resource: 4}, {Resource: 7, Value: 1 << 63}},
	}
	for _, plan := range []*Plan{full, {Path: "/bin/true", Args: []string{"true"}}} {
		args := plan.Encode()
		assert.Equal(t, Name, args[0])
		got, ok := Decode(args[1:])
		require.True(t, ok)
		assert.Equal(t, plan, got)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {""}, {"N"}, {"?"}, {"-/bin/true"}, {"Xmany", "-/bin/true", "true"}, {"U1", "-/bin/true", "true"}} {
		_, ok := Decode(args)
		assert.False(t, ok, "%q", args)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("N", "w/tmp", "-/bin/true", "true")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		plan, ok := Decode([]string{a, b, c, d})
		if !ok {
			return
		}
		again, ok := Decode(plan.Encode()[1:])
		require.True(t, ok)
		assert.Equal(t, plan, again)
	})
}
