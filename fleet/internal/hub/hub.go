// Package hub runs the NATS server of a fleet, with a key for each role.
package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// Options configure a hub.
type Options struct {
	// Listen is HOST:PORT. Empty: only this process reaches the hub.
	Listen string
	// Store is the directory of the keys and of JetStream.
	Store string
	// Name, ClusterListen and Routes are for a cluster of hubs.
	Name, ClusterListen string
	Routes              []string
	// Cert and Key are certificate files for TLS; CA signs the required certificates of clients.
	Cert, Key, CA string
}

const readyWithin = 20 * time.Second

// MaxPayload limits a message, in bytes.
const MaxPayload = 1 << 20

// Start starts a hub. The caller must shut it down.
func Start(o Options) (*server.Server, error) {
	keys, err := OpenKeys(filepath.Join(o.Store, "keys"))
	if err != nil {
		return nil, err
	}
	options, err := o.server(keys)
	if err != nil {
		return nil, err
	}
	ns, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("the hub cannot start: %w", err)
	}
	go ns.Start()
	if !ns.ReadyForConnections(readyWithin) {
		ns.Shutdown()
		return nil, fmt.Errorf("the hub is not ready within %s: is the port of %s free, and can %s be written",
			readyWithin, o.Listen, o.Store)
	}
	return ns, nil
}

// Reload applies changed keys: connections with revoked ones are closed.
func (o Options) Reload(ns *server.Server) error {
	keys, err := OpenKeys(filepath.Join(o.Store, "keys"))
	if err != nil {
		return err
	}
	options, err := o.server(keys)
	if err != nil {
		return err
	}
	return ns.ReloadOptions(options)
}

func (o Options) server(keys *Keys) (*server.Options, error) {
	s := &server.Options{
		ServerName: o.Name, DontListen: o.Listen == "", NoSigs: true, NoLog: true, JetStream: true,
		StoreDir: filepath.Join(o.Store, "jetstream"), MaxPayload: MaxPayload, Nkeys: keys.users(),
		SyncAlways: false, MaxPending: 64 << 20, WriteDeadline: 10 * time.Second, PingInterval: 5 * time.Second,
	}
	if o.Listen != "" {
		host, port, err := split(o.Listen)
		if err != nil {
			return nil, err
		}
		s.Host, s.Port = host, port
	}
	if o.ClusterListen != "" {
		host, port, err := split(o.ClusterListen)
		if err != nil {
			return nil, err
		}
		s.Cluster = server.ClusterOpts{Name: "toolhost", Host: host, Port: port, Username: "hub",
			Password: keys.clusterSecret()}
		for _, route := range o.Routes {
			s.Routes = append(s.Routes, &url.URL{Scheme: "nats-route", Host: route,
				User: url.UserPassword("hub", keys.clusterSecret())})
		}
	}
	if o.Cert != "" {
		config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: o.Cert, KeyFile: o.Key, CaFile: o.CA,
			Verify: o.CA != ""})
		if err != nil {
			return nil, fmt.Errorf("the certificate of the hub: %w", err)
		}
		s.TLSConfig, s.TLSVerify, s.TLSTimeout = config, o.CA != "", 5
	}
	return s, nil
}

// split splits HOST:PORT; the default host is this machine.
func split(address string) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		var port int
		if port, err = strconv.Atoi(text); err == nil {
			if host == "" {
				host = "127.0.0.1"
			}
			if port == 0 {
				port = server.RANDOM_PORT
			}
			return host, port, nil
		}
	}
	return "", 0, fmt.Errorf("%q is not a valid address: write HOST:PORT", address)
}

// Keys is the directory of a fleet's keys: NAME.ROLE.nk is a seed. The hub needs only the public
// half: NAME.ROLE.pub.
type Keys struct {
	dir  string
	list []Key
}

// Key is a key of a fleet.
type Key struct {
	Name, Role string
	Public     string
	Revoked    bool
}

// The roles.
const (
	RoleGateway = "gateway"
	RoleWorker  = "worker"
	// RoleOperator is for people who decide on calls that wait for approval.
	RoleOperator = "operator"
)

// Roles returns all roles.
func Roles() []string { return []string{RoleGateway, RoleWorker, RoleOperator} }

// OpenKeys reads the keys of a directory, and creates one for each role without one; for an
// operator, which is optional, only together with the first keys.
func OpenKeys(dir string) (*Keys, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	k := &Keys{dir: dir}
	if err := k.read(); err != nil {
		return nil, err
	}
	defer k.certify()
	begins := len(k.list) == 0
	for _, role := range Roles() {
		if role == RoleOperator && !begins {
			continue
		}
		if slices.ContainsFunc(k.list, func(key Key) bool { return key.Role == role }) {
			continue
		}
		if _, err := k.Add(role, role); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "cluster.secret")); errors.Is(err, fs.ErrNotExist) {
		pair, err := nkeys.CreateCluster()
		if err != nil {
			return nil, err
		}
		seed, err := pair.Seed()
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, "cluster.secret"), seed, 0o600); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *Keys) clusterSecret() string {
	data, err := os.ReadFile(filepath.Join(k.dir, "cluster.secret"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (k *Keys) read() error {
	files, err := os.ReadDir(k.dir)
	if err != nil {
		return err
	}
	k.list = nil
	for _, file := range files {
		base, kind, _ := cutLast(file.Name())
		name, role, ok := cutLast(base)
		if !ok || kind != "pub" && kind != "revoked" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(k.dir, file.Name()))
		if err != nil {
			return err
		}
		public := strings.TrimSpace(string(data))
		if !nkeys.IsValidPublicUserKey(public) {
			return fmt.Errorf("%s holds no public key. Delete it, or make it again with toolhost fleet key add",
				filepath.Join(k.dir, file.Name()))
		}
		k.list = append(k.list, Key{name, role, public, kind == "revoked"})
	}
	return nil
}

func cutLast(text string) (before, after string, ok bool) {
	i := strings.LastIndexByte(text, '.')
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// List returns all keys.
func (k *Keys) List() []Key { return slices.Clone(k.list) }

// SeedFile returns the path of a key's seed.
func (k *Keys) SeedFile(name, role string) string { return filepath.Join(k.dir, name+"."+role+".nk") }

// ValidName reports whether a key can have that name: it is part of subjects.
func ValidName(name string) bool {
	return name != "" && len(name) <= 40 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}

// Add creates a key and returns its seed's file.
func (k *Keys) Add(name, role string) (string, error) {
	if !ValidName(name) {
		return "", fmt.Errorf("%q cannot be the name of a key: use a-z, 0-9 and -, at most 40", name)
	}
	if !slices.Contains(Roles(), role) {
		return "", fmt.Errorf("there is no role %q: use %s", role, strings.Join(Roles(), " or "))
	}
	for _, known := range k.list {
		if known.Name == name && known.Role == role {
			return "", fmt.Errorf("there is a key %s of role %s: use another name", name, role)
		}
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", err
	}
	seed, err := pair.Seed()
	if err != nil {
		return "", err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return "", err
	}
	file := k.SeedFile(name, role)
	if err := os.WriteFile(file, append(seed, '\n'), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(k.dir, name+"."+role+".pub"), []byte(public+"\n"), 0o600); err != nil {
		return "", err
	}
	k.list = append(k.list, Key{name, role, public, false})
	k.certify()
	return file, nil
}

// Revoke makes hubs refuse a key from their next Reload on.
func (k *Keys) Revoke(name, role string) error {
	file := filepath.Join(k.dir, name+"."+role)
	if err := os.Rename(file+".pub", file+".revoked"); err != nil {
		return fmt.Errorf("there is no key %s of role %s in %s: toolhost fleet keys lists them", name, role, k.dir)
	}
	_ = os.Remove(file + ".nk")
	return k.read()
}

func (k *Keys) users() (users []*server.NkeyUser) {
	for _, key := range k.list {
		if key.Revoked {
			continue
		}
		user := &server.NkeyUser{Nkey: key.Public}
		switch key.Role {
		case RoleWorker:
			user.Permissions = workerMay(key.Name)
		case RoleOperator:
			user.Permissions = operatorMay(key.Name)
		case RoleGateway:
			user.Permissions = gatewayMay()
		default:
			continue
		}
		users = append(users, user)
	}
	return users
}

func operatorMay(key string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{"decide." + key + ".*.*"}},
		Subscribe: &server.SubjectPermission{Allow: []string{"beat.*.*", "decided." + key + ".>"}},
	}
}

// gatewayMay returns all rights but deciding: a gateway cannot speak for operators or to
// them, or hear what goes to operators and workers.
func gatewayMay() *server.Permissions {
	apart := &server.SubjectPermission{Deny: []string{"decide.>", "decided.>"}}
	return &server.Permissions{Publish: apart, Subscribe: apart}
}

// workerMay returns the rights of the named worker key. It has none in JetStream, which
// answers to any subject that the request names, with what the worker has stored.
func workerMay(key string) *server.Permissions {
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			"beat." + key + ".*", "ask." + key + ".*", "back.*." + key + ".*.*", "decided.*." + key + ".*.*",
			"store.*." + key + ".>", "pack." + key + ".*",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{"work." + key + ".*", "alive.*", "decide.*." + key + ".*",
			"_INBOX.worker." + key + ".>"}},
	}
}
