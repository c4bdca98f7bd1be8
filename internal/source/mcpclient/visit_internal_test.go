package mcpclient

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/test/testproc"
)

// A server may report a visit as done before the host knows that it is needed.
func TestAVisitThatIsDoneBeforeItIsExpected(t *testing.T) {
	var v visits
	v.done("early")
	done, forget := v.expect("early")
	testproc.Receive(t, done)
	forget()
	again, forget := v.expect("early")
	select {
	case <-again:
		assert.Fail(t, "it was done once")
	default:
	}
	v.done("early")
	testproc.Receive(t, again)
	forget()
	for i := range 3 * mostEarly {
		v.done(fmt.Sprint(i))
	}
	assert.Len(t, v.early, mostEarly)
	newest, forget := v.expect(fmt.Sprint(3*mostEarly - 1))
	defer forget()
	testproc.Receive(t, newest)
}
