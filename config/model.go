package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/internal/run/loopback"
)

// Model is the model block: the language model that tools may ask.
type Model struct {
	// URL is the base of an OpenAI-compatible endpoint.
	URL string
	// Name is the model's name at the endpoint.
	Name string
	// Key is the bearer token; it is among the Secrets.
	Key     string
	Headers map[string]string
	// Private is set if the host of URL may have an address that is not public.
	Private bool
	// Timeout bounds a question, MaxTokens an answer; zero is the default.
	Timeout   time.Duration
	MaxTokens int
	Pos       string
}

func (r *reader) model(b *hcl.Block) {
	blk := r.open(b, "model")
	blk.require("url", "model")
	m := &Model{Pos: pos(b.DefRange)}
	blk.boolean("private", &m.Private)
	if blk.text("url", &m.URL) {
		r.checkURL(m.URL, blk.where("url"))
		blk.encrypted(m)
	}
	if blk.text("model", &m.Name) && m.Name == "" {
		r.fail(blk.where("model"), "Empty name", "Name a model that the endpoint serves.", "model is empty.")
	}
	if blk.text("key", &m.Key) {
		blk.fromOutside("key", m.Key)
	}
	blk.textMap("headers", &m.Headers)
	blk.duration("timeout", &m.Timeout)
	blk.count("max_tokens", &m.MaxTokens)
	r.cfg.Model = m
}

// encrypted refuses to send prompts and a key unencrypted over the public network.
func (b block) encrypted(m *Model) {
	u, err := url.Parse(m.URL)
	if err != nil || u.Scheme != "http" || m.Private || loopback.Is(u.Hostname()) {
		return
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && (addr.IsPrivate() || addr.IsLinkLocalUnicast()) {
		return
	}
	b.fail(b.where("url"), "Model without encryption",
		"Write https://, or add private = true when the endpoint is on a network of your own.",
		"The key and the prompts would travel to %s readable to everybody on the way.", u.Hostname())
}

// fromOutside refuses a secret that is written in the file.
func (b block) fromOutside(name, secret string) {
	if secret == "" || slices.ContainsFunc(b.cfg.Secrets, func(s string) bool { return strings.Contains(secret, s) }) {
		return
	}
	what := strings.ReplaceAll(name, "_", " ")
	b.fail(b.where(name), strings.ToUpper(what[:1])+what[1:]+" in the file",
		`Write `+name+` = env("NAME") and set that variable, or use a sensitive variable.`,
		"Anyone who reads the file reads the %s.", what)
}
