package redact

import (
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

// tokenMarks are fixed parts of the shapes in tokens: a text with none of them
// need not be matched.
var tokenMarks = [...]string{
	"AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "sk-", "sk_live_",
	"rk_live_",
	"AIza", "eyJ", "npm_", "pypi-", "hf_", "SG.", "PRIVATE KEY-----", "earer ", "asic ", "://",
}

func mayHoldToken(s string) bool {
	for _, mark := range tokenMarks {
		if strings.Contains(s, mark) {
			return true
		}
	}
	return false
}

// tokens matches the shapes of well-known secrets. What the named groups
// matched stays.
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
