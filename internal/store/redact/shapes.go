package redact

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

func isSecretName(literal []byte) bool {
	switch strings.ReplaceAll(strings.ToLower(strings.Trim(string(literal), `"`)), "-", "_") {
	case "password", "passwd", "passphrase", "secret", "client_secret", "api_key", "apikey", "token",
		"access_token", "refresh_token", "auth_token", "authorization", "private_key":
		return true
	}
	return false
}

// tokenMarks are fixed parts of token shapes: a text without any need not be matched.
var tokenMarks = [...]string{
	"AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "sk-", "sk_live_",
	"rk_live_",
	"AIza", "eyJ", "npm_", "pypi-", "hf_", "SG.", "PRIVATE KEY-----", "earer ", "EARER ", "asic ", "ASIC ", "://",
}

// anchors are the bytes that find marks in one pass: each mark has one of them, and they are rare in texts.
const anchors = "KI_-xJGV:crCR"

// anchored is a mark and the position of its anchor.
type anchored struct {
	mark string
	at   int
}

// marks are the marks by their anchors.
var marks = func() (m struct {
	of [256]uint8
	by [len(anchors) + 1][]anchored
}) {
	for i := range anchors {
		m.of[anchors[i]] = uint8(i + 1)
	}
	for _, mark := range tokenMarks {
		at := strings.IndexAny(mark, anchors)
		list := &m.by[m.of[mark[at]]]
		*list = append(*list, anchored{mark, at})
	}
	return m
}()

func mayHoldToken[T string | []byte](s T) bool {
	for i := range len(s) {
		anchor := marks.of[s[i]]
		if anchor == 0 {
			continue
		}
		for _, m := range marks.by[anchor] {
			if start := i - m.at; start >= 0 && start+len(m.mark) <= len(s) &&
				string(s[start:start+len(m.mark)]) == m.mark {
				return true
			}
		}
	}
	return false
}

// maybeEscaped reports whether a character of a mark can be escaped in the JSON data: only a slash, and any as
// a number, can.
func maybeEscaped(data []byte) bool {
	return bytes.Contains(data, []byte(`\u`)) || bytes.Contains(data, []byte(`\/`))
}

// tokens matches the shapes of well-known secrets. The named groups stay.
var tokens = sync.OnceValue(func() *regexp.Regexp {
	const word = `\b(?:` +
		`(?:AKIA|ASIA)[0-9A-Z]{16}` + // AWS
		`|gh[pousr]_[0-9A-Za-z]{20,}|github_pat_[0-9A-Za-z_]{20,}` + // GitHub
		`|glpat-[0-9A-Za-z_-]{16,}` + // GitLab
		`|xox[abeoprs]-[0-9A-Za-z-]{10,}` + // Slack
		`|sk-[0-9A-Za-z_-]{20,}|(?:sk|rk)_live_[0-9A-Za-z]{16,}` + // model providers, Stripe
		`|AIza[0-9A-Za-z_-]{30,}` + // Google
		`|npm_[0-9A-Za-z]{30,}|pypi-[0-9A-Za-z_-]{30,}|hf_[0-9A-Za-z]{20,}` +
		`|SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}` + // SendGrid
		`|eyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*` + // JSON web tokens
		`)`
	const key = `-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`
	const header = `(?P<keep>(?i:\bbearer |\bauthorization: *basic ))[0-9A-Za-z._~+/=-]{15,}`
	const url = `(?P<user>://[^\s/:@"']*:)[^\s/@"']+(?P<at>@)`
	return regexp.MustCompile(header + "|" + key + "|" + word + "|" + url)
})
