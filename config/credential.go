package config

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/net/http/httpguts"

	"github.com/toolhost/toolhost/internal/run/network"
)

// Credential is a credential block: a header added to requests to one host, which the requesting processes
// never have.
type Credential struct {
	Name string
	// Host is a name; Port is 443 unless the block has another.
	Host string
	Port uint16
	// Header and Value are added. Value is among the Secrets.
	Header, Value string
	Pos           string
}

func (r *reader) credential(b *hcl.Block) {
	blk := r.open(b, "credential")
	c := Credential{Name: b.Labels[0], Header: "Authorization", Pos: pos(b.DefRange)}
	blk.require("host")
	var host string
	if blk.text("host", &host) {
		var err error
		var mistake *network.Mistake
		if c.Host, c.Port, err = network.CredentialHost(host); errors.As(err, &mistake) {
			r.fail(blk.where("host"), "Invalid host", mistake.Fix, "%s.", mistake.What)
		}
	}
	if blk.text("header", &c.Header) && !headerFits(c.Header) {
		r.fail(blk.where("header"), "Invalid header", `Write the name of a header of requests: "Authorization".`,
			"%q cannot be added to a request.", c.Header)
	}
	blk.credentialValue(&c)
	if c.Value != "" && !httpguts.ValidHeaderFieldValue(c.Value) {
		r.fail(blk.where("host"), "Invalid value", "Check the variable that it comes from: it may end in a line break.",
			"The value cannot stand in a header.")
	}
	for _, other := range r.cfg.Credentials {
		if c.Host != "" && other.Host == c.Host && other.Port == c.Port {
			r.fail(blk.where("host"), "Two credentials for one host", "Keep one of them.", "%s has that of %s already.",
				host, other.Pos)
		}
	}
	r.cfg.Credentials = append(r.cfg.Credentials, c)
}

// credentialValue reads a value, or a user's name and password.
func (b block) credentialValue(c *Credential) {
	var user, password string
	switch {
	case b.attrs["value"] != nil && (b.attrs["username"] != nil || b.attrs["password"] != nil):
		b.fail(b.where("value"), "Two ways", "Write value, or username and password.",
			"A credential is a value, or a user's name and password.")
	case b.attrs["value"] != nil:
		if b.text("value", &c.Value) && !b.secretIn("value", c.Value) {
			c.Value = ""
		}
	default:
		b.require("password")
		b.text("username", &user)
		b.text("password", &password)
		if password != "" && b.secretIn("password", password) {
			c.Value = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
			b.secret(strings.TrimPrefix(c.Value, "Basic "))
		}
	}
}

// secretIn reports whether a value has a secret. One written in the file is refused; without one, such as an
// unset variable, no header is added.
func (b block) secretIn(name, value string) bool {
	if _, written := literalText(b.attrs[name].Expr); written {
		b.fromOutside(name, value)
		return false
	}
	if slices.ContainsFunc(b.cfg.Secrets, func(s string) bool { return strings.Contains(value, s) }) {
		return true
	}
	b.warn(b.where(name), "No credential", `Write env("NAME") and set that variable, or use a sensitive variable.`,
		"There is no secret in %s: nothing is added to requests.", name)
	return false
}

// headerFits reports whether a header may be added: not those for routing or framing.
func headerFits(name string) bool {
	switch strings.ToLower(name) {
	case "host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "keep-alive",
		"proxy-connection", "expect":
		return false
	}
	return httpguts.ValidHeaderFieldName(name)
}
