package mcpclient

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An endless list is an error; a page that leads to itself is the last.
func TestPages(t *testing.T) {
	read := func(next func(cursor string, n int) (string, error)) (n int, err error) {
		err = pages("things", func(cursor string) (string, error) {
			n++
			return next(cursor, n)
		})
		return n, err
	}
	n, err := read(func(_ string, n int) (string, error) { return []string{"", "a", "b", ""}[n], nil })
	assert.NoError(t, err)
	assert.Equal(t, 3, n)
	n, err = read(func(string, int) (string, error) { return "same", nil })
	assert.NoError(t, err)
	assert.Equal(t, 2, n)
	_, err = read(func(_ string, n int) (string, error) { return strconv.Itoa(n), nil })
	assert.ErrorContains(t, err, "the server's list of things has more than 200 pages")
	_, err = read(func(string, int) (string, error) { return "a", errors.New("broken") })
	assert.EqualError(t, err, "broken")
}
