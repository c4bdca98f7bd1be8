package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// minSecret is the shortest configured value that is looked for: shorter ones
// would take harmless text out everywhere and protect nothing.
const minSecret = 4

// Redactor takes secrets out of texts: given values wherever they occur, and
// what has the shape of a well-known kind of token. A nil Redactor knows the
// shapes only. Its methods may be called from any goroutine.
type Redactor struct {
	values *strings.Replacer
	margin int // the length of the longest value
}

// minMargin is more than what shows a token to be one.
const minMargin = 1 << 10

// NewRedactor makes a redactor for the given values. Values shorter than four
// bytes are not looked for.
func NewRedactor(values []string) *Redactor {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return len(v) < minSecret })
	// The longest first, so that one secret within another leaves no rest.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(values))
	for _, value := range values {
		pairs = append(pairs, value, Redacted)
	}
	if len(pairs) == 0 {
		return &Redactor{}
	}
	return &Redactor{values: strings.NewReplacer(pairs...), margin: len(values[0])}
}

// String gives s without secrets.
func (r *Redactor) String(s string) string {
	if r != nil && r.values != nil {
		s = r.values.Replace(s)
	}
	if mayHoldToken(s) {
		s = tokens().ReplaceAllString(s, "${keep}${user}"+Redacted+"${at}")
	}
	return s
}

// JSON gives valid JSON without secrets: every string in it is treated by
// [Redactor.String], and strings under names such as "password" go whole.
func (r *Redactor) JSON(data json.RawMessage) json.RawMessage { return r.rewrite(data, 0) }

// rewrite passes every string of valid JSON through the redactor, keeping
// order and layout of the rest. Strings longer than limit are cut; limit 0
// cuts none.
func (r *Redactor) rewrite(data []byte, limit int) []byte {
	var out bytes.Buffer
	out.Grow(len(data))
	plain := r.plain(data, limit)
	secret := false
	for len(data) > 0 {
		start := bytes.IndexByte(data, '"')
		if start < 0 {
			break
		}
		out.Write(data[:start])
		end := start + literalEnd(data[start:])
		literal, rest := data[start:end], data[end:]
		isName := bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":"))
		isValue := secret && len(bytes.Trim(data[:start], ": \t\r\n")) == 0
		if isValue || !plain {
			literal = r.rewriteLiteral(literal, limit, isValue)
		}
		out.Write(literal)
		secret = isName && isSecretName(data[start:end])
		data = rest
	}
	out.Write(data)
	return out.Bytes()
}

// plain reports that no string of data is changed for what is in it, which is
// seen quicker of all at once.
func (r *Redactor) plain(data []byte, limit int) bool {
	return (r == nil || r.values == nil) && (limit == 0 || len(data) <= limit) &&
		bytes.IndexByte(data, '\\') < 0 && !mayHoldToken(string(data))
}

// literalEnd is the length of the string literal that data begins with.
func literalEnd(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

func (r *Redactor) rewriteLiteral(literal []byte, limit int, whole bool) []byte {
	text := string(literal[1:max(1, len(literal)-1)])
	if strings.ContainsRune(text, '\\') && json.Unmarshal(literal, &text) != nil {
		return literal
	}
	seen := r.seen(text, limit)
	clean := r.String(seen)
	if whole && text != "" {
		clean = Redacted
	} else if more := len(text) - len(seen); more > 0 {
		clean = cut(clean, max(0, min(limit, len(clean)-r.beyond())), more)
	} else if limit > 0 && len(clean) > limit {
		clean = cut(clean, limit, 0)
	}
	if clean == text {
		return literal
	}
	return tool.MustMarshal(clean)
}

// seen is the part of a text that is looked at for secrets where only limit
// bytes of it are kept: all of it costs seconds for a patch of some megabytes.
func (r *Redactor) seen(text string, limit int) string {
	end := limit + r.beyond()
	if limit == 0 || len(text) <= end {
		return text
	}
	return text[:end]
}

// beyond is how far beyond a cut a text is looked at. A secret that is cut off
// there lies in these bytes alone, which are not kept.
func (r *Redactor) beyond() int {
	if r == nil {
		return minMargin
	}
	return minMargin + r.margin
}

// cut keeps the first part of s, whole characters only, and says how much is
// missing of it and of the more bytes that came behind.
func cut(s string, limit, more int) string {
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return fmt.Sprintf("%s[... %d bytes left out]", s[:limit], len(s)-limit+more)
}

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
	"AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "sk-", "sk_live_", "rk_live_",
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
