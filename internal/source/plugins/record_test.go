package plugins

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNumbersOfALogLineStay(t *testing.T) {
	line := `{"@message":"m","@level":"info","a":1764279999123456789,"b":0.5,"c":[18446744073709551615]}`
	assert.Equal(t, "m a=1764279999123456789 b=0.5 c=[18446744073709551615]", parseRecord([]byte(line)).text())
}
