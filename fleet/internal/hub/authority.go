package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nkeys"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
)

// authority returns the key that signs for operators, which never leaves the hub's store. It is
// created if missing, in a writable store.
func (k *Keys) authority() (nkeys.KeyPair, error) {
	file := filepath.Join(k.dir, "authority.secret")
	data, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return nil, err
		}
		return nkeys.ParseDecoratedNKey(data)
	}
	pair, err := nkeys.CreateOperator()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, err
	}
	made, err := os.CreateTemp(k.dir, "authority-*") // of mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(made.Name())
	_, err = made.Write(append(seed, '\n'))
	if err := errors.Join(err, made.Close()); err != nil {
		return nil, err
	}
	err = os.Link(made.Name(), file)
	if errors.Is(err, fs.ErrExist) {
		return k.authority() // another program was faster
	}
	if err != nil { // not every file system has links
		err = os.Rename(made.Name(), file)
	}
	return pair, err
}

// certify adds the authority to the key files of workers and operators, with its signature for an
// operator. A read-only store is unchanged: programs report a missing line.
func (k *Keys) certify() {
	authority, err := k.authority()
	if err != nil {
		return
	}
	for _, key := range k.list {
		if key.Revoked || key.Role != RoleWorker && key.Role != RoleOperator {
			continue
		}
		file := k.SeedFile(key.Name, key.Role)
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		operator := ""
		if key.Role == RoleOperator {
			operator = key.Name
		}
		seed, has := fleet.KeyLines(data)
		line, err := fleet.AuthorityLine(authority, operator, seed)
		if err != nil || line == has {
			continue
		}
		// Appended, since the file may have been given to another user.
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, _ = f.WriteString(line + "\n")
			_ = f.Close()
		}
	}
}
