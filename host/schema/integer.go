package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Integer is an int in any form that JSON Schema counts as an integer, such as
// 3.0 or 1e2. What is beyond all use is cut to the range of 32 bits.
type Integer int

// UnmarshalJSON implements json.Unmarshaler. A number may be quoted, as the
// command line gives parameters that no schema shows.
func (n *Integer) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if i, err := strconv.Atoi(text); err == nil {
		*n = Integer(i)
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return fmt.Errorf("%q is not an integer", text)
	}
	*n = Integer(math.Max(-1<<31, math.Min(f, math.MaxInt32)))
	return nil
}

// plainIntegers writes the integers of an object without fraction and
// exponent, which encoding/json does not read into an int. It reports whether
// there were any to write anew.
func plainIntegers(n *node, object map[string]any) bool {
	changed := false
	for name, value := range object {
		if property := n.Properties[name]; property != nil {
			plain, was := plainInteger(property.resolved(), value)
			object[name], changed = plain, changed || was
		}
	}
	return changed
}

func plainInteger(n *node, value any) (plain any, changed bool) {
	switch value := value.(type) {
	case map[string]any:
		return value, plainIntegers(n, value)
	case []any:
		if n.Items == nil {
			return value, false
		}
		for i, item := range value {
			plain, was := plainInteger(n.Items.resolved(), item)
			value[i], changed = plain, changed || was
		}
	case json.Number:
		if slices.Contains(n.Type, "integer") && strings.ContainsAny(string(value), ".eE") {
			if f, ok := parseNumber(string(value)); ok && f.IsInt() {
				if i, exact := f.Int64(); exact == big.Exact {
					return json.Number(strconv.FormatInt(i, 10)), true
				}
			}
		}
	}
	return value, changed
}
