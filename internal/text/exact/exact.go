// Package exact decodes JSON of unknown shape without changing numbers: encoding/json makes each a float64, with 15
// to 17 digits.
package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"strconv"
)

// Value decodes a JSON value into maps, slices, strings, bools and nil. A number is a float64 if that is exact,
// else an int64, else a json.Number, so that it is encoded as it was.
func Value(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON value")
	}
	return normalizeNumbers(v), nil
}

// Object is Value for a JSON object. Null returns nil.
func Object(data []byte) (map[string]any, error) {
	v, err := Value(data)
	if err != nil || v == nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	return object, nil
}

// Kept reports whether all numbers of a JSON value are unchanged as float64.
func Kept(data []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return true // the decoder refuses invalid JSON
		}
		if n, ok := token.(json.Number); ok && !isFloat(n.String()) {
			return false
		}
	}
}

func normalizeNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if isFloat(v.String()) {
			f, _ := v.Float64()
			return f
		}
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
	case []any:
		for i := range v {
			v[i] = normalizeNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = normalizeNumbers(v[key])
		}
	}
	return v
}

// longest limits the numbers that are compared digit by digit; 1e400 or thousands of digits do not fit a
// float64.
const longest = 400

// isFloat reports whether a float64 is written as the same number.
func isFloat(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > longest {
		return false
	}
	if f == 0 { // 1e-999999999 is not 0, and too long to compare
		mantissa, _, _ := bytes.Cut(bytes.ToLower([]byte(text)), []byte{'e'})
		return len(bytes.Trim(mantissa, "-0.")) == 0
	}
	is, ok := new(big.Rat).SetString(text)
	written, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return ok && is.Cmp(written) == 0
}
