package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/hub"
)

type linkFlags struct {
	url, key      string
	ca, cert, pem string
}

func (l *linkFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&l.url, "hub", "", "the hub's URL, like nats://127.0.0.1:4222; several are separated by commas")
	flags.StringVar(&l.key, "key", "", "this program's key file, NAME.ROLE.nk from keys/ in the hub's data directory "+
		"(default: the key that your hub on this machine made)")
	flags.StringVar(&l.ca, "hub-ca", "", "a file with the CA certificates for the hub's certificate, for tls:// URLs")
	flags.StringVar(&l.cert, "hub-cert", "", "a file with the certificate to show to the hub")
	flags.StringVar(&l.pem, "hub-cert-key", "", "a file with the key of that certificate")
}

// link returns the link to the hub for a role, and the name of the key.
func (l *linkFlags) link(role string) (fleet.Link, string, error) {
	file := l.key
	if file == "" {
		file = filepath.Join(defaultStore(), "keys", role+"."+role+".nk")
	}
	if _, err := os.Stat(file); err != nil {
		return fleet.Link{}, "", usagef("Copy it from keys/ in the hub's data directory, and name it with --key.",
			"there is no key of role %s: %v", role, err)
	}
	name, is, ok := keyName(filepath.Base(file))
	if !ok || is != role {
		return fleet.Link{}, "", usagef("Keep the name that the hub gave it.",
			"--key %s: a key of role %s is called NAME.%s.nk", file, role, role)
	}
	return fleet.Link{URL: l.url, KeyFile: file, CAFile: l.ca, CertFile: l.cert, CertKey: l.pem}, name, nil
}

// keyName splits NAME.ROLE.nk.
func keyName(file string) (name, role string, ok bool) {
	base, ok := strings.CutSuffix(file, ".nk")
	i := strings.LastIndexByte(base, '.')
	if !ok || i < 0 || !hub.ValidName(base[:i]) {
		return "", "", false
	}
	return base[:i], base[i+1:], true
}
