package exact_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/text/exact"
)

func TestNumbersStayWhatTheyAre(t *testing.T) {
	for _, c := range []struct {
		text    string
		is      any
		written string
		kept    bool
	}{
		{"5", 5.0, "5", true},
		{"5.0", 5.0, "5", true},
		{"-0", math.Copysign(0, -1), "-0", true},
		{"0.1", 0.1, "0.1", true},
		{"1.50", 1.5, "1.5", true},
		{"1e3", 1000.0, "1000", true},
		{"9007199254740992", 9007199254740992.0, "9007199254740992", true},
		{"9007199254740993", int64(9007199254740993), "9007199254740993", false},
		{"1764279999123456789", int64(1764279999123456789), "1764279999123456789", false},
		{"18446744073709551615", json.Number("18446744073709551615"), "18446744073709551615", false},
		{"0.12345678901234567890123", json.Number("0.12345678901234567890123"), "0.12345678901234567890123", false},
		{"1e400", json.Number("1e400"), "1e400", false},
		{"1e-999999999", json.Number("1e-999999999"), "1e-999999999", false},
		{`"9007199254740993"`, "9007199254740993", `"9007199254740993"`, true},
	} {
		v, err := exact.Value([]byte(c.text))
		require.NoError(t, err, c.text)
		assert.Equal(t, c.is, v, c.text)
		nested, err := exact.Object([]byte(`{"a":[{"b":` + c.text + `}]}`))
		require.NoError(t, err, c.text)
		written, err := json.Marshal(nested)
		require.NoError(t, err, c.text)
		assert.Equal(t, `{"a":[{"b":`+c.written+`}]}`, string(written))
		assert.Equal(t, c.kept, exact.Kept([]byte(`[{"b":`+c.text+`}]`)), c.text)
	}
}

func TestWhatIsNoValueIsAnError(t *testing.T) {
	for _, text := range []string{"", "{", "{} {}", "1 2", "nul"} {
		_, err := exact.Value([]byte(text))
		assert.Error(t, err, "%q", text)
	}
	for _, text := range []string{"5", "[]", `"x"`} {
		_, err := exact.Object([]byte(text))
		assert.Error(t, err, "%q", text)
	}
	none, err := exact.Object([]byte("null"))
	assert.NoError(t, err)
	assert.Nil(t, none)
}
