package data

import (
	"math/big"
	"strings"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// plain returns the value of a plain scalar by YAML 1.2's core schema, in which yes, no, on and
// off, dates and 1:30 are strings, and 0777 is decimal.
func plain(s string) any {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	if n, ok := number(s); ok {
		return n
	}
	return s
}

var (
	integers = regexlimit.Lazy(`^[-+]?[0-9]+$`)
	floats   = regexlimit.Lazy(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	based    = regexlimit.Lazy(`^0(o[0-7]+|x[0-9a-fA-F]+)$`)
	special  = regexlimit.Lazy(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

func number(s string) (Number, bool) {
	if strings.IndexByte("+-.0123456789", s[0]) < 0 {
		return "", false
	}
	switch {
	case integers().MatchString(s):
		return decimal(s), true
	case floats().MatchString(s):
		return decimal(s), true
	case based().MatchString(s):
		n, ok := new(big.Int).SetString(strings.ToLower(s), 0)
		if !ok {
			return "", false
		}
		return Number(n.String()), true
	case special().MatchString(s):
		s = strings.TrimPrefix(strings.ToLower(s), "+")
		return Number(s), true
	}
	return "", false
}

// decimal returns a decimal number in JSON's form with all digits: no plus sign or leading zeros,
// digits on both sides of the point.
func decimal(s string) Number {
	sign := ""
	if s[0] == '-' || s[0] == '+' {
		if s[0] == '-' {
			sign = "-"
		}
		s = s[1:]
	}
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i:]
	}
	whole, fraction, pointed := strings.Cut(mantissa, ".")
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if pointed && fraction == "" {
		fraction = "0"
	}
	if pointed {
		whole += "." + fraction
	}
	return Number(sign + whole + exponent)
}

// old matches non-strings of YAML 1.1, for readers of that version.
var old = regexlimit.Lazy(`^(?i:y|yes|n|no|on|off|=|<<|[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?0x[0-9a-f_]+|[-+]?` +
	`[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?` +
	`|[-+]?[0-9][0-9_]*(\.[0-9_]*)?(e[-+]?[0-9]+)?` +
	`|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([tT ].*)?)$`)

// needsQuotes reports whether a plain string would be read as something else.
func needsQuotes(s string) bool {
	if _, isString := plain(s).(string); !isString {
		return true
	}
	return old().MatchString(s)
}
