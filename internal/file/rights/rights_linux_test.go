package rights

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

type entry struct {
	tag, perm uint16
	id        uint32
}

const noID = 0xffffffff

func aclOf(entries ...entry) []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	return list
}

// shared lets user 2000 write, and the group only read; the mode says 660.
func shared() []byte {
	return aclOf(entry{1, 6, noID}, entry{2, 6, 2000}, entry{4, 4, noID}, entry{16, 6, noID},
		entry{32, 0, noID})
}

func write(t *testing.T, path string, mode fs.FileMode) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	require.NoError(t, f.Chmod(mode))
	return f
}

func attach(t *testing.T, path, name string, value []byte) {
	t.Helper()
	if err := unix.Setxattr(path, name, value, 0); errors.Is(err, unix.ENOTSUP) {
		testneed.Missing(t, "the file system has no "+name)
	} else {
		require.NoError(t, err)
	}
}

func attached(t *testing.T, path, name string) []byte {
	t.Helper()
	value := make([]byte, 512)
	n, err := unix.Getxattr(path, name, value)
	if errors.Is(err, unix.ENODATA) {
		return nil
	}
	require.NoError(t, err)
	return value[:n]
}

func TestGive(t *testing.T) {
	for name, c := range map[string]struct {
		mode     fs.FileMode
		acl      []byte
		user     string // an attribute
		inherits bool   // the directory gives new files a list
		give     fs.FileMode
		wantACL  []byte
	}{
		"control: a mode alone":         {mode: 0o640, give: 0o640},
		"an open mode":                  {mode: 0o644, give: 0o644},
		"a list":                        {mode: 0o660, acl: shared(), give: 0o660, wantACL: shared()},
		"a list and an attribute":       {mode: 0o660, acl: shared(), user: "a note", give: 0o660, wantACL: shared()},
		"an attribute":                  {mode: 0o600, user: "a note", give: 0o600},
		"no list, though new ones have": {mode: 0o660, inherits: true, give: 0o660},
		"a list of its own":             {mode: 0o660, acl: shared(), inherits: true, give: 0o660, wantACL: shared()},
		"a narrower mode": {mode: 0o660, acl: shared(), give: 0o640, wantACL: aclOf(entry{1, 6, noID},
			entry{2, 6, 2000}, entry{4, 4, noID}, entry{16, 4, noID}, entry{32, 0, noID})},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			old := write(t, filepath.Join(dir, "old"), c.mode)
			if c.acl != nil {
				attach(t, old.Name(), acl, c.acl)
			}
			if c.user != "" {
				attach(t, old.Name(), "user.note", []byte(c.user))
			}
			if c.inherits {
				attach(t, dir, "system.posix_acl_default", aclOf(entry{1, 7, noID}, entry{2, 7, 3000},
					entry{4, 7, noID}, entry{16, 7, noID}, entry{32, 7, noID}))
			}
			info, err := old.Stat()
			require.NoError(t, err)
			r, err := Of(old, info)
			require.NoError(t, err)
			f, err := os.OpenFile(filepath.Join(dir, "new"), os.O_RDWR|os.O_CREATE|os.O_EXCL, r.FirstMode(c.give))
			require.NoError(t, err)
			defer f.Close()
			require.NoError(t, r.Give(f, c.give, func() error {
				now, err := f.Stat()
				require.NoError(t, err)
				assert.Zero(t, now.Mode().Perm()&^c.give, "wider while it is written")
				assert.Equal(t, c.wantACL, attached(t, f.Name(), acl))
				return nil
			}))
			now, err := f.Stat()
			require.NoError(t, err)
			assert.Equal(t, c.give, now.Mode().Perm())
			assert.Equal(t, c.wantACL, attached(t, f.Name(), acl))
			assert.Equal(t, c.user, string(attached(t, f.Name(), "user.note")))
		})
	}
}

// onSystem replaces system calls.
func onSystem(t *testing.T, change func(*calls)) {
	was := system
	t.Cleanup(func() { system = was })
	change(&system)
}

// TestCost counts the calls for a file with only a mode: the old list and, since
// a directory may have given it one, the new file's.
func TestCost(t *testing.T) {
	dir := t.TempDir()
	old, f := write(t, filepath.Join(dir, "old"), 0o600), write(t, filepath.Join(dir, "new"), 0o600)
	info, err := old.Stat()
	require.NoError(t, err)
	lists, others := 0, 0
	real := system
	onSystem(t, func(c *calls) {
		c.list = func(f *os.File, into []byte) (int, error) { lists++; return real.list(f, into) }
		c.get = func(f *os.File, name string, into []byte) (int, error) { others++; return real.get(f, name, into) }
		c.set = func(f *os.File, name string, value []byte) error { others++; return real.set(f, name, value) }
		c.remove = func(f *os.File, name string) error { others++; return real.remove(f, name) }
	})
	r, err := Of(old, info)
	require.NoError(t, err)
	require.NoError(t, r.Give(f, 0o600, func() error { return nil }))
	assert.Equal(t, []int{2, 0}, []int{lists, others})
}

// The system refuses to set the rights.
func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		attribute string
		lost      string // "" if the new file may do without
	}{
		"access control list": {acl, "its access control list cannot be kept: operation not permitted"},
		"user attribute": {"user.note",
			"its extended attribute user.note cannot be kept: operation not permitted"},
		"of another kind": {"system.nfs4_acl",
			"its extended attribute system.nfs4_acl cannot be kept: operation not permitted"},
		"label":                  {"security.selinux", ""},
		"of the system's":        {"trusted.note", ""},
		"made with the content":  {"security.ima", ""},
		"dropped with it":        {"security.capability", ""},
		"of another file system": {"trusted.overlay.metacopy", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			old, f := write(t, filepath.Join(dir, "old"), 0o600), write(t, filepath.Join(dir, "new"), 0o600)
			info, err := old.Stat()
			require.NoError(t, err)
			onSystem(t, func(c2 *calls) {
				c2.list = func(of *os.File, into []byte) (int, error) {
					if of != old {
						return 0, nil
					}
					return copy(into, c.attribute+"\x00"), nil
				}
				c2.get = func(_ *os.File, _ string, into []byte) (int, error) { return copy(into, "value"), nil }
				c2.set = func(*os.File, string, []byte) error { return unix.EPERM }
			})
			r, err := Of(old, info)
			require.NoError(t, err)
			filled := false
			err = r.Give(f, 0o600, func() error { filled = true; return nil })
			if c.lost == "" {
				require.NoError(t, err)
				assert.True(t, filled)
				return
			}
			var lost *Lost
			require.ErrorAs(t, err, &lost)
			assert.Equal(t, c.lost, lost.Error())
			assert.False(t, lost.Owner)
			assert.False(t, filled, "nothing is written before")
		})
	}
}

// Only the superuser can give the owner.
func TestLostOwner(t *testing.T) {
	testneed.NotSuperuser(t)
	self, err := os.Stat("/") // of root
	require.NoError(t, err)
	f := write(t, filepath.Join(t.TempDir(), "new"), 0o600)
	err = (&Rights{info: self}).Give(f, 0o600, func() error { return nil })
	var lost *Lost
	require.ErrorAs(t, err, &lost)
	assert.True(t, lost.Owner)
}

// Plain returns the group's rights from the list.
func TestPlain(t *testing.T) {
	for name, c := range map[string]struct {
		mode fs.FileMode
		acl  []byte
		want any
	}{
		"control: no list":    {mode: 0o664, want: nil},
		"nothing for a group": {mode: 0o600, want: nil},
		"less than the mask":  {mode: 0o660, acl: shared(), want: fs.FileMode(0o640)},
		"the mask takes some away": {mode: 0o660, acl: aclOf(entry{1, 6, noID}, entry{2, 6, 2000},
			entry{4, 7, noID}, entry{16, 4, noID}, entry{32, 4, noID}), want: fs.FileMode(0o644)},
	} {
		t.Run(name, func(t *testing.T) {
			f := write(t, filepath.Join(t.TempDir(), "f"), c.mode)
			if c.acl != nil {
				attach(t, f.Name(), acl, c.acl)
			}
			info, err := f.Stat()
			require.NoError(t, err)
			plain := Plain(f, info.Mode())
			if c.want == nil {
				assert.Nil(t, plain)
				return
			}
			require.NotNil(t, plain)
			assert.Equal(t, c.want, *plain)
		})
	}
	plain := PlainBy(0o660, func([]byte) (int, error) { return 0, unix.EIO })
	require.NotNil(t, plain)
	assert.Equal(t, fs.FileMode(0o600), *plain, "a list that cannot be read gives nothing")
}
