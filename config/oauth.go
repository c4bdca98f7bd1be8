package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/internal/run/loopback"
)

// OAuth is an mcp block's oauth block, for servers that do not let clients register themselves.
type OAuth struct {
	// Grant is "authorization_code" (the default), for which the user logs in, "client_credentials" or
	// "jwt_bearer".
	Grant string
	// ClientID is the ID of a client that was registered by hand.
	ClientID string
	// ClientSecret is among the Secrets; ClientSecretFile and PrivateKeyFile are paths of files with one or a
	// key. At most one of them is set.
	ClientSecret, ClientSecretFile, PrivateKeyFile string
	// AssertionFile is the path of the assertion for jwt_bearer.
	AssertionFile string
	// ClientMetadataURL is the URL of a client ID metadata document.
	ClientMetadataURL string
	// Issuer is the only accepted authorization server; empty means the MCP server's.
	Issuer string
	// Scopes are requested in place of those that the server names.
	Scopes []string
	// RedirectPort is the local port for the login's redirect; zero means any free one.
	RedirectPort int
	// Private is set if the authorization server may have an address that is not public.
	Private bool
	Pos     string
}

func (b block) oauth(s *Server) {
	for _, nested := range b.blocks {
		if s.OAuth != nil {
			b.fail(nested.DefRange, "Two oauth blocks", "Put everything into one.", "There is one at %s already.",
				s.OAuth.Pos)
			continue
		}
		s.OAuth = b.reader.oauthBlock(nested)
		switch {
		case s.URL == "" && !b.has("url"):
			b.fail(nested.DefRange, "Out of place", "Use env.", "oauth is for a server that is reached at a url.")
		case slices.ContainsFunc(b.entries("headers"),
			func(e entry) bool { return strings.EqualFold(e.key, "Authorization") }):
			b.fail(nested.DefRange, "Two ways to authorize", "Keep headers or oauth.",
				"The headers have an Authorization already.")
		case !secure(s.URL):
			b.fail(b.where("url"), "Token without encryption", "Write https://.",
				"A token would travel there readable to everybody on the way.")
		}
	}
}

// secure reports whether what is sent to a URL stays secret.
func secure(text string) bool {
	u, err := url.Parse(text)
	return err != nil || u.Scheme != "http" || loopback.Is(u.Hostname())
}

func (r *reader) oauthBlock(b *hcl.Block) *OAuth {
	blk := r.open(b, "oauth")
	o := &OAuth{Pos: pos(b.DefRange)}
	blk.oneOf("grant", &o.Grant, "authorization_code", "client_credentials", "jwt_bearer")
	blk.text("client_id", &o.ClientID)
	blk.oauthSecret(o)
	blk.secureURL("client_metadata_url", &o.ClientMetadataURL)
	blk.secureURL("issuer", &o.Issuer)
	if blk.has("client_metadata_url") && blk.has("client_id") {
		r.fail(blk.attrs["client_metadata_url"].NameRange, "Two clients", "Keep one of them.",
			"client_id names a client, and so does client_metadata_url.")
	}
	if blk.texts("scopes", &o.Scopes) {
		for _, scope := range o.Scopes {
			if scope == "" || strings.ContainsFunc(scope,
				func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) {
				r.fail(blk.where("scopes"), "Invalid scope", `Write one word each: ["read", "write"].`,
					"%q is not a scope.", scope)
			}
		}
	}
	if blk.count("redirect_port", &o.RedirectPort) && (o.RedirectPort < 1 || o.RedirectPort > 65535) {
		r.fail(blk.where("redirect_port"), "Invalid port", "", "A port is a number from 1 to 65535.")
	}
	blk.boolean("private", &o.Private)
	if o.Grant != "" && o.Grant != "authorization_code" && blk.has("redirect_port") {
		r.fail(blk.attrs["redirect_port"].NameRange, "Out of place", "Remove it.", "%s does not use a browser.", o.Grant)
	}
	return o
}

// secureURL sets a URL that is only used encrypted.
func (b block) secureURL(name string, to *string) {
	if !b.text(name, to) {
		return
	}
	b.checkURL(*to, b.where(name))
	if !secure(*to) {
		b.fail(b.where(name), "URL without encryption", "Write https://.", "%s has to be an https URL.", name)
	}
}

// oauthSecret reads the secret of a client, for one authorization server, so that the MCP server cannot have it
// sent to another.
func (b block) oauthSecret(o *OAuth) {
	if b.text("client_secret", &o.ClientSecret) {
		b.fromOutside("client_secret", o.ClientSecret)
	}
	b.file("client_secret_file", &o.ClientSecretFile)
	b.file("private_key_file", &o.PrivateKeyFile)
	b.file("assertion_file", &o.AssertionFile)
	first := ""
	for _, name := range []string{"client_secret", "client_secret_file", "private_key_file"} {
		switch {
		case !b.has(name):
		case first == "":
			first = name
		default:
			b.fail(b.attrs[name].NameRange, "Two secrets", "Keep one of them.", "%s is there already.", first)
		}
	}
	switch {
	case first != "" || o.Grant == "jwt_bearer":
		b.require("client_id", "issuer")
	case o.Grant == "client_credentials":
		b.fail(b.at, "Missing attribute",
			`Add client_secret = env("NAME"), client_secret_file or private_key_file, with client_id and issuer.`,
			"client_credentials need the secret of a client.")
	}
	switch {
	case o.Grant == "jwt_bearer":
		b.require("assertion_file")
	case b.has("assertion_file"):
		b.fail(b.attrs["assertion_file"].NameRange, "Out of place", `Write grant = "jwt_bearer", or remove it.`,
			"Only jwt_bearer sends an assertion.")
	}
}

func (b block) file(name string, to *string) {
	if b.text(name, to) {
		*to = b.path(*to, b.where(name))
	}
}
