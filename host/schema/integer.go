package schema

import (
	"fmt"
	"math"
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
